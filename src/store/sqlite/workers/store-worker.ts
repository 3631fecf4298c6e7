/** A thread of the embedded store for large reads and work on whole files, so that the event loop never waits. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../../errors.ts';
import type { Json, Rendered } from '../../../pims/rules/json.ts';
import { Database, errcodeOf, faultOf, withDatabase } from '../files/database.ts';
import { faultsOfFile } from '../files/whole-files.ts';
import { migrate, type Owner } from '../files/migrate.ts';
import { refuseSlowQuery } from '../../../pims/reads/query.ts';
import { TOO_LARGE } from '../../pims/lookups.ts';
import { runRead, type FoundBy, type Read } from '../reads/run-read.ts';

export type Job =
  | { kind: 'read'; file: string; read: Read; budgetMs: number }
  | { kind: 'checkpoint'; file: string }
  | { kind: 'examine'; file: string }
  | { kind: 'upgrade'; file: string; owner: Owner }
  | { kind: 'forget'; file: string };
export interface Reply {
  result?: unknown;
  refusal?: Pick<Refusal, 'code' | 'message' | 'field'>;
  error?: { message: string; errcode: number | undefined };
}

export interface WorkerData {
  /** A flag shared with the pool: 1 ends the job. */
  readonly isEnded: Int32Array;
  /** Niceness of the thread, from 0, like the process, to 19, the lowest priority. */
  readonly niceness: number;
}

const WRITE = { mode: 'write', busyTimeoutMs: 0 } as const;
const CONNECTIONS_MAX = 16;
/** Threads map nothing, because each would have a separate map, and every page that a scan reads counts as memory. */
const MAP_BYTES = 0;
const connections = new Map<string, Database>();

function openForReads(file: string): Database {
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
  try {
    withDatabase(file, WRITE, (db) => db.exec('PRAGMA wal_checkpoint(PASSIVE)'));
  } catch (fault) {
    // A full or busy file is checkpointed later. Until then its log only stays longer.
    if (faultOf(fault) !== 'busy' && faultOf(fault) !== 'full') throw fault;
  }
}

function runJob(job: Exclude<Job, { kind: 'forget' }>, buffers: ArrayBuffer[]): Reply {
  if (job.kind === 'checkpoint') return { result: checkpoint(job.file) };
  if (job.kind === 'upgrade') return { result: withDatabase(job.file, WRITE, (db) => migrate(db, 'pims', job.owner)) };
  if (job.kind === 'examine') return { result: faultsOfFile(job.file) };
  const { file, read, budgetMs } = job;
  const done = runRead(openForReads(file), read, 'thread', { ms: budgetMs, isEnded });
  const found = typeof done === 'symbol' ? refuseSlowQuery(budgetMs) : done;
  if (found instanceof Refusal) return { refusal: { code: found.code, message: found.message, field: found.field } };
  return { result: encode(found, buffers) };
}

/** Turns JSON into bytes, which move to the event loop without a copy and are sent unchanged. */
function encode(found: FoundBy<Read>, buffers: ArrayBuffer[]): FoundBy<Read> {
  const bytesOf = (json: Rendered) => {
    const bytes = new TextEncoder().encode(json as Json);
    buffers.push(bytes.buffer);
    return bytes;
  };
  if (found === undefined || found === TOO_LARGE || 'record' in found || 'rows' in found) return found;
  if ('records' in found)
    return { ...found, records: bytesOf(found.records), lines: found.lines && bytesOf(found.lines) };
  if (!('order' in found)) return found.map((one) => ({ ...one, json: bytesOf(one.json) }));
  return { ...found, lines: found.lines && bytesOf(found.lines) };
}

const port = parentPort!;
const { isEnded: flag, niceness } = workerData as WorkerData;
// Only Linux has a niceness for each thread.
if (niceness > 0 && process.platform === 'linux') setPriority(niceness);
const isEnded = () => Atomics.load(flag, 0) === 1;
port.on('message', (job: Job) => {
  if (job.kind === 'forget') return forget(job.file);
  let reply: Reply;
  const buffers: ArrayBuffer[] = [];
  try {
    reply = runJob(job, buffers);
  } catch (fault) {
    reply = { error: { message: String(fault), errcode: errcodeOf(fault) } };
  }
  port.postMessage(reply, buffers);
});
