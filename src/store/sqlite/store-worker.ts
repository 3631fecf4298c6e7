/** A worker thread of the embedded store: runs long queries and checkpoints, so that the event loop never waits. */
import { parentPort } from 'node:worker_threads';
import { Database, faultOf } from './database.ts';
import { runPage, type PageQuery } from './query.ts';

export type Job =
  | { kind: 'query'; file: string; query: PageQuery; budgetMs: number }
  | { kind: 'checkpoint'; file: string }
  | { kind: 'forget'; file: string };
export interface Reply {
  result?: unknown;
  error?: { message: string; errcode: number | undefined };
}

const CONNECTIONS_MAX = 16;
const connections = new Map<string, Database>();

function connect(file: string): Database {
  let db = connections.get(file);
  connections.delete(file);
  if (!db) {
    db = new Database(file, { mode: 'read', busyTimeoutMs: 0 });
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

function run(job: Exclude<Job, { kind: 'forget' }>): unknown {
  if (job.kind === 'query') return runPage(connect(job.file), job.query, job.budgetMs);
  return checkpoint(job.file);
}

const port = parentPort!;
port.on('message', (job: Job) => {
  if (job.kind === 'forget') return forget(job.file);
  let reply: Reply;
  try {
    reply = { result: run(job) };
  } catch (fault) {
    reply = { error: { message: String(fault), errcode: (fault as { errcode?: number }).errcode } };
  }
  port.postMessage(reply);
});
