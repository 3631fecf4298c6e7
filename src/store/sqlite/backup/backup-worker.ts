/** A thread that makes one backup and checks it, so that the event loop never waits. It yields to calls. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckResult } from '../../check/check.ts';
import { backupStore, checkBackup } from './backup.ts';

export interface BackupJob {
  readonly folder: string;
  readonly target: string;
  readonly madeAt: string;
}

export type BackupReply = Pick<CheckResult, 'findings' | 'count' | 'notes'>;

/**
 * The niceness that gives the thread a third of the weight of the event loop, so that a backup also finishes on a busy
 * machine.
 */
const NICENESS = 5;

// Only Linux has a niceness for each thread.
if (process.platform === 'linux') setPriority(NICENESS);
const { folder, target, madeAt } = workerData as BackupJob;
const made = await backupStore(folder, target, madeAt);
const { findings, count, notes } = await checkBackup(target);
parentPort!.postMessage({ findings, count, notes: [...made.notes, ...notes] } satisfies BackupReply);
