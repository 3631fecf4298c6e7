/**
 * CPU time and memory of processes, as Linux counts them.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The kernel counts CPU time in hundredths of a second. */
const TICK_US = 10_000;
/** Fields of /proc/PID/stat after the name: parent, user and system time, and these times of ended children. */
const [PARENT, USER, SYSTEM, CHILD_USER, CHILD_SYSTEM] = [1, 11, 12, 13, 14] as const;

const read = (pid: number | 'self', name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
const statOf = (pid: number | 'self'): number[] =>
  read(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);

/** Returns `nothing` if the process has ended meanwhile. */
function orNothing<T>(look: () => T, nothing: T): T {
  try {
    return look();
  } catch {
    return nothing;
  }
}

/** Lists a process and all its descendants. */
export function treeOf(root: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = all.map((name) => [Number(name), orNothing(() => statOf(Number(name))[PARENT], 0)] as const);
  const tree = [root];
  for (const parent of tree) for (const [pid, its] of parents) if (its === parent) tree.push(pid);
  return tree;
}

/** Returns the CPU time of processes, including the kernel's work for them. */
export const cpuTimeUs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const fields = orNothing(() => statOf(pid), []);
    return sum + ((fields[USER] ?? 0) + (fields[SYSTEM] ?? 0)) * TICK_US;
  }, 0);

/** Returns the CPU time of the machine, and of the ended children of this process. */
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

/** Returns the resident memory of processes. */
export const memoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'VmRSS');

/** Returns the memory of processes without pages of files, which the kernel takes back when it needs memory. */
export const ownMemoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'RssAnon');

/** Returns the maximum resident memory of processes since `forgetPeaks`. */
export const peakMemoryMb = (pids: readonly number[]): number => sumOfStatus(pids, 'VmHWM');

export function forgetPeaks(pids: readonly number[]): void {
  for (const pid of pids) orNothing(() => writeFileSync(`/proc/${pid}/clear_refs`, '5'), undefined);
}
