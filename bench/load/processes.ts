/**
 * CPU time and memory of processes, as Linux counts them.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The kernel counts CPU time in hundredths of a second. */
const TICK_US = 10_000;
/** In /proc/PID/stat, behind the name: parent, own user and system time, and the same of children that have ended. */
const [PARENT, USER, SYSTEM, CHILD_USER, CHILD_SYSTEM] = [1, 11, 12, 13, 14] as const;

const read = (pid: number | 'self', name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
const statOf = (pid: number | 'self'): number[] =>
  read(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);

/** Processes end while they are looked at. */
function orNothing<T>(look: () => T, nothing: T): T {
  try {
    return look();
  } catch {
    return nothing;
  }
}

/** A process and all that it started, and these again. */
export function treeOf(root: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = all.map((name) => [Number(name), orNothing(() => statOf(Number(name))[PARENT], 0)] as const);
  const tree = [root];
  for (const parent of tree) for (const [pid, its] of parents) if (its === parent) tree.push(pid);
  return tree;
}

/** The CPU time that processes have taken, theirs and the kernel's for them. */
export const cpuTimeUs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const fields = orNothing(() => statOf(pid), []);
    return sum + ((fields[USER] ?? 0) + (fields[SYSTEM] ?? 0)) * TICK_US;
  }, 0);

/** The CPU time of the machine, and of what this process has started and seen the end of. */
export function machineTimeUs(): { busy: number; total: number; children: number } {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/).slice(1, 9).map(Number);
  const total = fields.reduce((sum, one) => sum + one, 0);
  const own = statOf('self');
  return {
    busy: (total - fields[3]! - fields[4]!) * TICK_US,
    total: total * TICK_US,
    children: (own[CHILD_USER]! + own[CHILD_SYSTEM]!) * TICK_US,
  };
}

const sumOfStatus = (pids: readonly number[], name: string): number =>
  pids.reduce((sum, pid) => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(orNothing(() => read(pid, 'status'), ''));
    return sum + Number(found?.[1] ?? 0) / 1024;
  }, 0);

/** Memory that processes hold. */
export const memoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'VmRSS');

/** The same without pages of files, which the kernel takes back when it needs them. */
export const ownMemoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'RssAnon');

/** The most that they have held since `forgetPeaks`. */
export const peakMemoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'VmHWM');

export function forgetPeaks(pids: readonly number[]): void {
  for (const pid of pids) orNothing(() => writeFileSync(`/proc/${pid}/clear_refs`, '5'), undefined);
}
