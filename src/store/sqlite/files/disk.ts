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

export class Disk {
  readonly #bounds: DiskBounds;
  readonly #report: (event: string) => void;
  #free = Infinity;
  #size = 0;
  #isLow = false;
  #isReadOnly = false;

  /** Measures now, and then once a second until the process ends. */
  constructor(folder: string, bounds: DiskBounds, { report, clock }: DiskObserver) {
    this.#bounds = bounds;
    this.#report = report;
    this.#note(statfsSync(folder));
    const measure = (): void => {
      statfs(folder, (fault, stats) => void (fault ?? this.#note(stats)));
      access(folder, constants.W_OK, (fault) => void (this.#isReadOnly = fault !== null));
    };
    every(clock, MEASURE_MS, measure);
  }

  get freeBytes(): number {
    return this.#free;
  }

  get sizeBytes(): number {
    return this.#size;
  }

  /** Returns the free bytes below which the request log stops. */
  get lowBytes(): number {
    const { diskFreeMb, diskFreePercent } = this.#bounds;
    return Math.max(BOUND_LEAST, Math.min(diskFreeMb * MIB, (this.#size * diskFreePercent) / 100));
  }

  /** Returns whether the request log has to stop. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Returns whether writes are refused, or will be soon. */
  get isUnfit(): boolean {
    return this.#isReadOnly || this.#free < this.#bounds.readyFreeMb * MIB;
  }

  #note({ bavail, blocks, bsize }: StatsFs): void {
    this.#free = bavail * bsize;
    this.#size = blocks * bsize;
    const isLow = this.#free < this.lowBytes;
    if (isLow !== this.#isLow)
      this.#report(
        isLow ? `The request log stops: the disk has ${this.#free} free bytes.` : 'The request log continues.',
      );
    this.#isLow = isLow;
  }
}
