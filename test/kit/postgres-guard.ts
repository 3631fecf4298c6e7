/**
 * Clears away a PostgreSQL of the tests. A process of its own, which waits for the end of its standard input: that
 * comes when its parent wants it, or dies in whatever way. Then it kills what works in the folder and removes it.
 */
import { existsSync, globSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The processes whose working folder is this one or in it, as that of every process of PostgreSQL is. Without /proc it
 * is the postmaster alone: when it is gone, the others end by themselves.
 */
export function findProcesses(folder: string): number[] {
  const isWithin = (pid: number): boolean => `${workingFolder(pid)}/`.startsWith(`${folder}/`);
  if (existsSync('/proc/self/cwd')) return globSync('[0-9]*', { cwd: '/proc' }).map(Number).filter(isWithin);
  const lockFile = join(folder, 'data/postmaster.pid');
  return existsSync(lockFile)
    ? [Number.parseInt(readFileSync(lockFile, 'utf8'), 10)].filter((pid) => signal(pid, 0))
    : [];
}

function workingFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // it has ended, or belongs to somebody else
  }
}

/** Sends a signal, and says whether there was a process to take it. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Resolves when all are gone. */
export async function killProcesses(folder: string): Promise<void> {
  for (let pids = findProcesses(folder); pids.length > 0; pids = findProcesses(folder)) {
    for (const pid of pids) signal(pid, 'SIGKILL');
    await sleep(5);
  }
}

if (import.meta.main) {
  const folder = process.argv[2]!;
  await text(process.stdin);
  await killProcesses(folder);
  rmSync(folder, { recursive: true, force: true });
}
