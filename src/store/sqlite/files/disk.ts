/**
 * Checks the disk of the embedded store once a second: its free space, and whether it can be written to. The request
 * log stops at a bound, long before writes are refused. Source: decision 0022.
 */
import { every, type Clock } from '../../../clock.ts';
import { access, constants, statfs, statfsSync, type StatsFs } from 'node:fs';

const MEASURE_MS = 1000;
const MIB = 1024 * 1024;
/** Lowest bound: the log writes less than this between two measurements. */
const BOUND_LEAST = 64 * MIB;

export interface DiskBounds {
  /** The request log stops when the free space is below the smaller of these two. */
  readonly diskFreeMb: number;
  readonly diskFreePercent: number;
  /** The service is not ready when the free space is below this. */
  readonly readyFreeMb: number;
}

export interface DiskObserver {
  /** Called when the log stops and when it continues. */
  readonly report: (event: string) => void;
  readonly clock: Clock;
}

/** Measures now, and then once a second until the process ends. */
export function observeDisk(
  folder: string,
  { diskFreeMb, diskFreePercent, readyFreeMb }: DiskBounds,
  { report, clock }: DiskObserver,
) {
  let [freeBytes, sizeBytes, isLow, isReadOnly] = [Infinity, 0, false, false];
  const lowBytes = () => Math.max(BOUND_LEAST, Math.min(diskFreeMb * MIB, (sizeBytes * diskFreePercent) / 100));
  const note = ({ bavail, blocks, bsize }: StatsFs) => {
    freeBytes = bavail * bsize;
    sizeBytes = blocks * bsize;
    const wasLow = isLow;
    isLow = freeBytes < lowBytes();
    if (isLow !== wasLow)
      report(isLow ? `The request log stops: the disk has ${freeBytes} free bytes.` : 'The request log continues.');
  };
  note(statfsSync(folder));
  every(clock, MEASURE_MS, () => {
    statfs(folder, (fault, stats) => void (fault ?? note(stats)));
    access(folder, constants.W_OK, (fault) => void (isReadOnly = fault !== null));
  });
  return {
    get freeBytes() {
      return freeBytes;
    },
    get sizeBytes() {
      return sizeBytes;
    },
    /** The free bytes below which the request log stops. */
    get lowBytes() {
      return lowBytes();
    },
    /** Whether the request log has to stop. */
    get isLow() {
      return isLow;
    },
    /** Whether writes are refused, or will be soon. */
    get isUnfit() {
      return isReadOnly || freeBytes < readyFreeMb * MIB;
    },
  };
}
