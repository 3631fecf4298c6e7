/**
 * Removes a PostgreSQL of the tests. This separate process waits for the end of its standard input, which its parent
 * closes, also by ending in any way. Then it kills the processes that work in the folder, and removes the folder.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextRound } from 'node:timers/promises';

/** Index of the line of postmaster.pid with the key and the identifier of the shared memory. */
const SHARED_MEMORY_LINE = 6;

/**
 * Finds the processes that work in this folder or below it, as every process of PostgreSQL does. Without /proc, finds
 * only the postmaster: when it has ended, the others end by themselves.
 */
export function findProcesses(folder: string): number[] {
  const isWithin = (pid: number): boolean => `${workingFolder(pid)}/`.startsWith(`${folder}/`);
  // Reads only names: readdir fails when it asks for the type of an entry whose process has just ended.
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
    return ''; // it has ended, or belongs to another user
  }
}

/** Sends a signal, and returns whether there was a process to receive it. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Kills the processes in a folder and removes their shared memory. Resolves when all have ended. */
export async function killProcesses(folder: string): Promise<void> {
  const memory = findSharedMemory(folder);
  for (let pids = findProcesses(folder); pids.length > 0; pids = findProcesses(folder)) {
    for (const pid of pids) signal(pid, 'SIGKILL');
    await nextRound(); // the end of a process that is not a child is not reported
  }
  // A killed postmaster leaves its shared memory to the next one in this folder, and there will be none.
  if (memory !== undefined) spawnSync('ipcrm', ['-m', memory]);
}

/** Finds the identifier of the shared memory that a postmaster keeps while it runs. Finds none on a disk that is lost. */
export function findSharedMemory(folder: string): string | undefined {
  try {
    const lines = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n');
    return lines[SHARED_MEMORY_LINE]?.trim().split(/\s+/)[1];
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const folder = process.argv[2]!;
  await text(process.stdin);
  await killProcesses(folder);
  rmSync(folder, { recursive: true, force: true });
}
