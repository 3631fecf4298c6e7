/** Runs attacks, and measures the service and the waits of other callers meanwhile. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../../test/kit/service.ts';
import { forgetPeaks, memoryMb, ownMemoryMb, peakMemoryMb } from '../load/processes.ts';
import { ONLOOKERS, type Waits } from './callers.ts';
import { prepare, type Counts } from './parts.ts';
import type { Target } from './target.ts';

type Looks = Readonly<Record<string, Waits>>;

export interface Figures {
  /** Waits of other callers before the attack. */
  readonly idle: Looks;
  /** Waits of other callers during the attack. */
  readonly during: Looks;
  /** Resident memory before the attack, in MiB. */
  readonly idleMib: number;
  /** Maximum resident memory during the attack, in MiB. */
  readonly peakMib: number;
  /** The same two figures without cached pages of files, which the kernel takes back when it needs memory. */
  readonly ownIdleMib: number;
  readonly ownPeakMib: number;
  /** Growth of the data folder. */
  readonly grownMib: number;
  /** Seconds until the process ended, if it did. */
  readonly diedAfter: number | undefined;
  /** Answers to each attack. */
  readonly counts: Readonly<Record<string, Counts>>;
}

interface Times {
  readonly idleSeconds: number;
  readonly seconds: number;
}

/** Prepares processes by their names. */
async function prepareAll<Report>(names: readonly string[], target: Target) {
  const parts = await Promise.all(names.map((name) => prepare<Report>(name, target)));
  return {
    go: () => Promise.all(parts.map((part) => part.go())),
    report: async (): Promise<Record<string, Report>> => {
      const reports = await Promise.all(parts.map((part) => part.report()));
      return Object.fromEntries(reports.map((report, index) => [names[index]!, report]));
    },
    end: () => parts.forEach((part) => part.end()),
  };
}

/** Runs attacks at the same time, with `beside`. The service has to be running; it may have ended afterwards. */
export async function measure(
  service: Service,
  target: Target,
  names: readonly string[],
  { idleSeconds, seconds }: Times,
  beside: (isOver: () => boolean) => Promise<unknown> = () => Promise.resolve(),
): Promise<Figures> {
  const pids = [service.pid];
  const onlookers = await prepareAll<Waits>(Object.keys(ONLOOKERS), target);
  const attacks = await prepareAll<Counts>(names, target);
  await onlookers.go();
  await sleep(1000);
  await onlookers.report();
  await sleep(idleSeconds * 1000);
  const idle = await onlookers.report();
  const [idleMib, ownIdleMib, folderMib] = [memoryMb(pids), ownMemoryMb(pids), folderSize(service)];
  forgetPeaks(pids);

  const begunAt = performance.now();
  const state = { isOver: false, peakMib: idleMib, ownPeakMib: ownIdleMib };
  const working = beside(() => state.isOver);
  await attacks.go();
  const elapsed = (): number => (performance.now() - begunAt) / 1000;
  while (elapsed() < seconds && !service.hasExited) {
    state.peakMib = Math.max(state.peakMib, peakMemoryMb(pids));
    state.ownPeakMib = Math.max(state.ownPeakMib, ownMemoryMb(pids));
    await sleep(50);
  }
  const diedAfter = service.hasExited ? elapsed() : undefined;
  const during = await onlookers.report();
  const counts = await attacks.report();
  attacks.end();
  state.isOver = true;
  await working;
  onlookers.end();
  const { peakMib, ownPeakMib } = state;
  const grownMib = folderSize(service) - folderMib;
  return { idle, during, idleMib, peakMib, ownIdleMib, ownPeakMib, grownMib, diedAfter, counts };
}

/** Returns the size of the data folder in MiB; 0 with PostgreSQL. */
function folderSize({ databaseUrl, place }: Service): number {
  if (databaseUrl !== undefined) return 0;
  return Number.parseInt(execFileSync('du', ['-s', '--apparent-size', '--block-size=1K', place]).toString(), 10) / 1024;
}

/** Returns the seconds until the service's own memory is at most `mib`, or undefined if that takes too long. */
export async function waitForMemory(service: Service, mib: number, withinSeconds: number): Promise<number | undefined> {
  const begunAt = performance.now();
  for (;;) {
    const seconds = (performance.now() - begunAt) / 1000;
    if (ownMemoryMb([service.pid]) <= mib) return seconds;
    if (seconds > withinSeconds) return undefined;
    await sleep(250);
  }
}
