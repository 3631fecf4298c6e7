/** A worker thread of the embedded store: large reads and work on whole files, so that the event loop never waits. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../../errors.ts';
import type { Json, Rendered } from '../../../pims/writes/script.ts';
import { CUT_SHORT, Database, faultOf } from '../files/database.ts';
import { faultsOfFile } from '../files/whole-files.ts';
import { migrate, type Upgrade } from '../files/migrate.ts';
import { runRead, TOO_LARGE, type FoundBy, type Read } from '../reads/query.ts';

export type Job =
  | { kind: 'read'; file: string; read: Read; budgetMs: number }
  | { kind: 'checkpoint'; file: string }
  | { kind: 'examine'; file: string }
  | { kind: 'upgrade'; file: string }
  | { kind: 'forget'; file: string };
export interface Reply {
  result?: unknown;
  refusal?: Pick<Refusal, 'code' | 'message' | 'field'>;
  error?: { message: string; errcode: number | undefined };
}

export interface WorkerData {
  /** One place, shared with the pool: 1 ends the job. */
  readonly isEnded: Int32Array;
  /** Of the thread: 0 is that of the process, 19 gives way to everything. */
  readonly niceness: number;
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

function upgrade(file: string): Upgrade | undefined {
  const db = new Database(file, { mode: 'write', busyTimeoutMs: 0 });
  try {
    return migrate(db, 'pims');
  } finally {
    db.close();
  }
}

function run(job: Exclude<Job, { kind: 'forget' }>, buffers: ArrayBuffer[]): Reply {
  if (job.kind === 'checkpoint') {
    checkpoint(job.file);
    return {};
  }
  if (job.kind === 'upgrade') return { result: upgrade(job.file) };
  if (job.kind === 'examine') return { result: faultsOfFile(job.file) };
  const { file, read, budgetMs } = job;
  const found = runRead(connect(file), read, 'thread', { ms: budgetMs, isEnded });
  if (found === CUT_SHORT) {
    const message = `The query did not finish within ${budgetMs} ms. Add an exact filter on an indexed field.`;
    return { refusal: { code: 'QUERY_TOO_COSTLY', message, field: undefined } };
  }
  if (found instanceof Refusal) return { refusal: { code: found.code, message: found.message, field: found.field } };
  return { result: encode(found, buffers) };
}

/** JSON as bytes, which the event loop is given without a copy and sends as they are. */
function encode(found: FoundBy<Read>, buffers: ArrayBuffer[]): FoundBy<Read> {
  const bytesOf = (json: Rendered): Uint8Array => {
    const bytes = new TextEncoder().encode(json as Json);
    buffers.push(bytes.buffer);
    return bytes;
  };
  if (found === undefined || found === TOO_LARGE || 'record' in found) return found;
  if ('records' in found)
    return { ...found, records: bytesOf(found.records), lines: found.lines && bytesOf(found.lines) };
  if (!('order' in found)) return found.map((one) => ({ ...one, json: bytesOf(one.json) }));
  return { ...found, lines: found.lines && bytesOf(found.lines) };
}

const port = parentPort!;
const { isEnded: flag, niceness } = workerData as WorkerData;
// Linux alone has a niceness for each thread.
if (niceness > 0 && process.platform === 'linux') setPriority(niceness);
const isEnded = (): boolean => Atomics.load(flag, 0) === 1;
port.on('message', (job: Job) => {
  if (job.kind === 'forget') return forget(job.file);
  let reply: Reply;
  const buffers: ArrayBuffer[] = [];
  try {
    reply = run(job, buffers);
  } catch (fault) {
    reply = { error: { message: String(fault), errcode: (fault as { errcode?: number }).errcode } };
  }
  port.postMessage(reply, buffers);
});
