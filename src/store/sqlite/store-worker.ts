/** A worker thread of the embedded store: runs large reads and checkpoints, so that the event loop never waits. */
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../errors.ts';
import { CUT_SHORT, Database, faultOf } from './database.ts';
import { runRead, type Read } from './query.ts';

export type Job =
  | { kind: 'read'; file: string; read: Read; budgetMs: number }
  | { kind: 'checkpoint'; file: string }
  | { kind: 'forget'; file: string };
export interface Reply {
  result?: unknown;
  refusal?: Pick<Refusal, 'code' | 'message' | 'field'>;
  error?: { message: string; errcode: number | undefined };
}

export interface WorkerData {
  /** One place, shared with the pool: 1 ends the job. */
  readonly isEnded: Int32Array;
}

const CONNECTIONS_MAX = 16;
/** Less than on the event loop: every thread has a map of its own, and what a scan touches counts as resident. */
const MAP_BYTES = 0;
const connections = new Map<string, Database>();

function connect(file: string): Database {
  let db = connections.get(file);
  connections.delete(file);
  if (!db) {
    db = new Database(file, { mode: 'read', busyTimeoutMs: 0, mapBytes: MAP_BYTES });
    if (connections.size >= CONNECTIONS_MAX) forget(connections.keys().next().value!);
  }
  connections.set(file, db);
  return db;
}

function forget(file: string): void {
  connections.get(file)?.close();
  connections.delete(file);
}

function checkpoint(file: string): void {
  let db: Database | undefined;
  try {
    db = new Database(file, { mode: 'write', busyTimeoutMs: 0 });
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (fault) {
    // A full or busy file is checkpointed another time; its log only stays longer.
    if (faultOf(fault) !== 'busy' && faultOf(fault) !== 'full') throw fault;
  } finally {
    db?.close();
  }
}

function run(job: Exclude<Job, { kind: 'forget' }>): Reply {
  if (job.kind === 'checkpoint') {
    checkpoint(job.file);
    return {};
  }
  const { file, read, budgetMs } = job;
  const found = runRead(connect(file), read, 'each', { ms: budgetMs, isEnded });
  if (found === CUT_SHORT) {
    const message = `The query did not finish within ${budgetMs} ms. Add an exact filter on an indexed field.`;
    return { refusal: { code: 'QUERY_TOO_COSTLY', message, field: undefined } };
  }
  if (found instanceof Refusal) return { refusal: { code: found.code, message: found.message, field: found.field } };
  return { result: found };
}

const port = parentPort!;
const { isEnded: flag } = workerData as WorkerData;
const isEnded = (): boolean => Atomics.load(flag, 0) === 1;
port.on('message', (job: Job) => {
  if (job.kind === 'forget') return forget(job.file);
  let reply: Reply;
  try {
    reply = run(job);
  } catch (fault) {
    reply = { error: { message: String(fault), errcode: (fault as { errcode?: number }).errcode } };
  }
  port.postMessage(reply);
});
