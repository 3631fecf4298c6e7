/**
 * Clears away a PostgreSQL of the tests. A process of its own, which waits for the end of its standard input: that
 * comes when its parent wants it, or dies in whatever way. Then it kills what works in the folder and removes it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Of postmaster.pid: the key and the identifier of the shared memory. */
const SHARED_MEMORY_LINE = 6;

/**
 * The processes whose working folder is this one or in it, as that of every process of PostgreSQL is. Without /proc it
 * is the postmaster alone: when it is gone, the others end by themselves.
 */
export function findProcesses(folder: string): number[] {
  const isWithin = (pid: number): boolean => `${workingFolder(pid)}/`.startsWith(`${folder}/`);
  // By names alone: for the type of an entry whose process has just ended, a look at it fails, and with it the list.
  if (existsSync('/proc/self/cwd'))
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter(isWithin);
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

/** Kills them, and removes the memory they have shared. Resolves when all are gone. */
export async function killProcesses(folder: string): Promise<void> {
  const memory = findSharedMemory(folder);
  for (let pids = findProcesses(folder); pids.length > 0; pids = findProcesses(folder)) {
    for (const pid of pids) signal(pid, 'SIGKILL');
    await nextTurn(); // the end of a process that is not its own child is told to nobody
  }
  // A postmaster that is killed leaves it to the next one in this folder, which would not come.
  if (memory !== undefined) spawnSync('ipcrm', ['-m', memory]);
}

/** The identifier of the segment that a postmaster keeps while it runs. */
export function findSharedMemory(folder: string): string | undefined {
  const lockFile = join(folder, 'data/postmaster.pid');
  const line = existsSync(lockFile) ? readFileSync(lockFile, 'utf8').split('\n')[SHARED_MEMORY_LINE] : undefined;
  return line?.trim().split(/\s+/)[1];
}

if (import.meta.main) {
  const folder = process.argv[2]!;
  await text(process.stdin);
  await killProcesses(folder);
  rmSync(folder, { recursive: true, force: true });
}
