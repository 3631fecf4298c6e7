/**
 * Begin here: runs the scripts of one tenant on any SQL store. Parses a body before the transaction, so that a refused
 * body needs no transaction. Refuses a second request with the same idempotency key while the first is running. Source:
 * decision 0027.
 */
import { orThrow, type Outcome, Refusal, refuseForNow, settle } from '../../errors.ts';
import type { RecordType } from '../../pims/rules/fields.ts';
import {
  importBatch,
  type ImportBatches,
  type ImportResults,
  type ImportRow,
  type RowOptions,
} from '../../pims/import.ts';
import type { Idempotency, Script, Write } from '../../pims/writes/script.ts';
import type { Writing } from '../sql/writing.ts';
import { buildLoad, buildSave, type ScriptSql } from './script-sql.ts';

/** The functions for scripts that differ between the stores. */
export interface ScriptStore {
  /** Returns the SQL for the dictionaries that were last loaded. */
  sql(): ScriptSql;
  /** Loads the dictionaries again if another process has changed them. */
  refresh(): Promise<unknown>;
  /**
   * Runs a script in the next transaction, with the current dictionaries, and resolves when it is on disk. May call
   * `begin` again. Passes the SQL of the transaction if reads may still need another.
   */
  commitScript<T>(begin: (sql?: ScriptSql) => StartedScript<T>, size: number): Promise<Outcome<T>>;
}

export interface StartedScript<T> {
  readonly sql: ScriptSql;
  readonly script: Script<T>;
  readonly first: ReturnType<Script<T>['next']>;
}

export function makeScriptRunner(store: ScriptStore) {
  const running = new Set<string>();
  const startImport = (recordType: RecordType, rows: readonly ImportRow[], options: RowOptions, sql = store.sql()) =>
    startScript(sql, () => importBatch(recordType, rows, options));
  return {
    /** Runs a write. Returns IDEMPOTENCY_KEY_RUNNING while another write with its key has no outcome yet. */
    runWrite: async <T>(write: Write<T>, idempotency?: Idempotency, size = 1): Promise<Outcome<T>> => {
      const parsed = await parseWithFields(store, (sql) => startScript(sql, write));
      if (parsed instanceof Refusal) return parsed;
      let started: StartedScript<T> | undefined = parsed;
      const key = idempotency && `${idempotency.operation} ${idempotency.key}`;
      if (key !== undefined && running.has(key)) return refuseForNow('IDEMPOTENCY_KEY_RUNNING');
      if (key !== undefined) running.add(key);
      try {
        return await store.commitScript((sql = store.sql()) => {
          const ready = started?.sql === sql ? started : startScript(sql, write);
          started = undefined;
          return ready;
        }, size);
      } finally {
        if (key !== undefined) running.delete(key);
      }
    },
    importBatch: startImport,
    /** Imports batches, each in its own transaction. */
    async *importEach(recordType: RecordType, batches: ImportBatches, options: RowOptions): ImportResults {
      for await (const rows of batches)
        yield orThrow(await store.commitScript((sql) => startImport(recordType, rows, options, sql), 1));
    },
  };
}

/**
 * Parses with the dictionaries that were last loaded. UNKNOWN_FIELD is final only if no process has added a field
 * since.
 */
export async function parseWithFields<Sql, T>(
  store: { sql(): Sql; refresh(): Promise<unknown> },
  parse: (sql: Sql) => T,
): Promise<Outcome<T>> {
  const sql = store.sql();
  const parsed = settle(() => parse(sql));
  if (!(parsed instanceof Refusal) || parsed.code !== 'UNKNOWN_FIELD') return parsed;
  await store.refresh();
  return store.sql() === sql ? parsed : settle(() => parse(store.sql()));
}

function startScript<T>(sql: ScriptSql, write: Write<T>): StartedScript<T> {
  const script = write(sql.dictionaries);
  return { sql, script, first: script.next() };
}

/** Turns the requests of a script into statements. A refusal of the script is its outcome. */
export function* runScript<T>(begin: () => StartedScript<T>): Writing<Outcome<T>> {
  try {
    const { sql, script, first } = begin();
    let step = first;
    while (!step.done) {
      const request = step.value;
      if (request.kind === 'load') {
        const query = buildLoad(sql, request);
        step = script.next(query.parse(yield query));
      } else {
        for (const statement of buildSave(sql, request)) yield statement;
        step = script.next();
      }
    }
    return step.value;
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal;
    throw refusal;
  }
}
