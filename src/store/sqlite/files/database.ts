/** Connections to SQLite files: WAL, when its commits are synced, bounded caches, time budgets, prepared statements. */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Refusal } from '../../../errors.ts';
import { compareDecimals } from '../../../pims/rules/decimal.ts';
import { containsFolded } from '../../../pims/reads/filter.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import type { Bound, Row, SearchChange, Writing } from '../../writing.ts';

export interface OpenOptions {
  /** `write`: the one writer of a process. `make`: the same, and makes a file that is missing. `read`: never writes. */
  readonly mode: 'write' | 'make' | 'read';
  /** `full`: COMMIT returns when the change is on disk. `deferred`: the caller syncs the log itself. */
  readonly sync?: 'full' | 'deferred';
  /** How long to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  /** How long to wait for another process that opens or creates the same file. */
  readonly openingTimeoutMs?: number;
  /** How much of the file a reader maps. */
  readonly mapBytes?: number;
}

export const OPENING_TIMEOUT_MS = 5000;
const OPENING_RETRY_MS = 10;
const CACHE_KIB = 4096;
/** Reads map the page cache of the operating system. Bounded, since touched pages count as resident. */
const MAP_BYTES = 256 * 1024 * 1024;
/** The size the log is truncated to when it is restarted. Space that is there already is synced sooner. */
const LOG_BYTES_KEPT = 32 * 1024 * 1024;
const STATEMENTS_MAX = 256;
/** Reads call `charge_row(ID)` for each row. The clock is read once in so many, oftener at first: rows can be large. */
const ROWS_PER_LOOK = 64;
/** Folding this many characters costs about as much as a row. */
const CHARACTERS_PER_ROW = 128;
/** The longest statement reads an order with its lines, both with 400 fields of 63 characters: 120,000. */
const LIMITS = { attach: 0, exprDepth: 200, variableNumber: 1000, sqlLength: 200_000 };

/** Texts that functions are given before a walk begins anew. */
const WALK_CHARACTERS_MAX = 8 * 1024 * 1024;
const PAUSE_MESSAGE = 'walk paused';
const BUDGET_MESSAGE = 'time budget used up';
/** In place of what a read has found, when its time budget was used up first. */
export const CUT_SHORT = Symbol('cut short');

/** What a read may take. */
export interface Budget {
  readonly ms: number;
  readonly isEnded: () => boolean;
}

export class Database {
  readonly file: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #iterated = new Set<string>();
  #deadline = Infinity;
  /** What functions were given since a row was fetched; the key of the last row they were given. */
  #characters = 0;
  #walkedTo = '';
  #isEnded: () => boolean = () => false;
  #rows = 0;
  #rowsPerLook = ROWS_PER_LOOK;
  #lastRowId = 0;

  constructor(
    file: string,
    { mode, sync = 'full', busyTimeoutMs, openingTimeoutMs = OPENING_TIMEOUT_MS, mapBytes = MAP_BYTES }: OpenOptions,
  ) {
    this.file = file;
    // The longest value a reader builds, in bytes, is an order with its lines.
    const limits = mode === 'read' ? { ...LIMITS, length: ORDER_CHARACTERS_MAX } : LIMITS;
    const options = { readOnly: false, timeout: busyTimeoutMs, limits, enableForeignKeyConstraints: true };
    let opened: DatabaseSync | undefined;
    try {
      opened = this.#connection = new DatabaseSync(mode === 'make' ? file : locate(file), options);
      retryWhileBusy(openingTimeoutMs, () => this.#configure(mode, sync, mapBytes));
    } catch (fault) {
      opened?.close();
      throw nameFile(fault, file);
    }
    this.#connection.function('contains_folded', { deterministic: true }, (text, needle) => {
      const searched = String(text);
      const folded = String(needle);
      this.#characters += searched.length + folded.length;
      this.#chargeRows(searched.length / CHARACTERS_PER_ROW);
      return containsFolded(searched, folded) ? 1 : 0;
    });
    const walkTo = (position: string): number => {
      if (this.#characters > WALK_CHARACTERS_MAX) throw new Error(PAUSE_MESSAGE);
      this.#walkedTo = position;
      this.#characters += position.length;
      return this.#chargeRows(1);
    };
    this.#connection.function('walk_row', { deterministic: false }, (key) => walkTo(String(key)));
    this.#connection.function('walk_sorted', { deterministic: false }, (value, key) =>
      walkTo(`${String(value)}\0${String(key)}`),
    );
    this.#connection.function('compare_decimals', { deterministic: true }, (number, value) => {
      this.#characters += String(number).length + String(value).length;
      this.#chargeRows(1);
      return compareDecimals(String(number), String(value));
    });
    this.#connection.function('charge_row', { deterministic: false }, (_row) => this.#chargeRows(1));
  }

  #configure(mode: OpenOptions['mode'], sync: OpenOptions['sync'], mapBytes: number): void {
    this.exec('PRAGMA trusted_schema=OFF; PRAGMA wal_autocheckpoint=0');
    this.exec(`PRAGMA cache_size=-${CACHE_KIB}`);
    if (mode !== 'read') {
      this.#set('journal_mode', 'wal');
      this.exec(`PRAGMA journal_size_limit=${LOG_BYTES_KEPT}`);
      this.exec(`PRAGMA synchronous=${sync === 'full' ? 'FULL' : 'NORMAL'}`);
    } else this.exec(`PRAGMA query_only=ON; PRAGMA mmap_size=${mapBytes}`);
  }

  /** Lets go of what is beyond it. */
  limitCache(kib: number): void {
    this.exec(`PRAGMA cache_size=-${kib}`);
  }

  /** A prepared statement, kept for the life of the connection (the oldest of 256 goes). */
  statement(sql: string): StatementSync {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.delete(this.#statements.keys().next().value!);
    this.#statements.set(sql, statement);
    return statement;
  }

  run(sql: string, ...values: Bound[]): number {
    const statement = this.statement(sql);
    // node:sqlite also reads the last row's ID, and throws where FTS5 gave one beyond 2^53 to a row of its own.
    statement.setReadBigInts(true);
    const { changes, lastInsertRowid } = statement.run(...values);
    this.#lastRowId = Number(lastInsertRowid);
    return Number(changes);
  }

  /** The ID of the row inserted last, by `run`. */
  get lastRowId(): number {
    return this.#lastRowId;
  }

  row<R extends Row>(sql: string, ...values: Bound[]): R | undefined {
    return this.statement(sql).get(...values) as R | undefined;
  }

  rows<R extends Row>(sql: string, ...values: Bound[]): R[] {
    return this.statement(sql).all(...values) as unknown as R[];
  }

  /** Rows one by one. Run the same statement again only when these are read, or left. */
  each<R extends Row>(sql: string, ...values: Bound[]): IterableIterator<R> {
    this.#iterated.add(sql);
    return this.statement(sql).iterate(...values) as unknown as IterableIterator<R>;
  }

  /**
   * Rows of a statement that calls `walk_row(key)`, or `walk_sorted(value, key)`, for every row it looks at, in their
   * order. Begins anew behind the last now and then: until a statement comes up with a row, Node keeps all texts that
   * functions were given.
   */
  *walk<R extends Row>(sql: string, valuesFrom: (position: string) => Bound[], after: string): IterableIterator<R> {
    for (let from = after; ; from = this.#walkedTo) {
      this.#characters = 0;
      try {
        for (const row of this.each<R>(sql, ...valuesFrom(from))) {
          yield row;
          this.#characters = 0;
        }
        return;
      } catch (fault) {
        if (!(fault instanceof Error) || fault.message !== PAUSE_MESSAGE) throw fault;
        this.#statements.delete(sql);
      }
    }
  }

  /** Rows one by one, from a statement of their own. Do not write on the connection meanwhile. */
  iterate<R extends Row>(sql: string, ...values: Bound[]): IterableIterator<R> {
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    return statement.iterate(...values) as unknown as IterableIterator<R>;
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs statements that call `charge_row(ID)` for at most this long, or until `isEnded`. Then they are cut short. */
  withBudget<T>({ ms, isEnded }: Budget, work: () => T): T | typeof CUT_SHORT {
    this.#deadline = performance.now() + ms;
    this.#isEnded = isEnded;
    this.#rows = 0;
    this.#rowsPerLook = 1;
    this.#characters = 0;
    try {
      return work();
    } catch (fault) {
      // A statement that failed while its rows were read one by one would fail again.
      for (const sql of this.#iterated) this.#statements.delete(sql);
      if (fault instanceof Error && [BUDGET_MESSAGE, PAUSE_MESSAGE].includes(fault.message)) return CUT_SHORT;
      throw fault;
    } finally {
      this.#deadline = Infinity;
      if (this.#iterated.size > 0) this.#iterated.clear();
    }
  }

  /** For node:sqlite's own backup. */
  get connection(): DatabaseSync {
    return this.#connection;
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #chargeRows(rows: number): number {
    this.#rows += rows;
    if (this.#rows < this.#rowsPerLook) return 1;
    this.#rows = 0;
    this.#rowsPerLook = Math.min(this.#rowsPerLook * 2, ROWS_PER_LOOK);
    if (performance.now() > this.#deadline || this.#isEnded()) throw new Error(BUDGET_MESSAGE);
    return 1;
  }

  /** Sets a pragma and reads it back, since SQLite reports no error when it keeps the old value. */
  #set(pragma: string, value: string): void {
    const answer = this.row<[string]>(`PRAGMA ${pragma}=${value}`);
    if (answer?.[0] === value) return;
    const hint = 'Is the folder on a network or memory file system?';
    throw new Error(`${this.file}: ${pragma} is ${answer?.[0]}, and must be ${value}. ${hint}`);
  }
}

/** For SQLite, which would make a file that is missing. */
function locate(file: string): URL {
  const url = pathToFileURL(file);
  url.search = '?mode=rw';
  return url;
}

const NO_ROWS: readonly Row[] = [];

/** What is done at the end of a transaction, by ascending IDs. */
export interface LateWork {
  readonly id: number;
  readonly run: () => void;
}

/**
 * Runs a writing to its end, in the transaction of the caller, who rolls back when this throws. Changes of the search
 * index go to `late` where it is given: FTS5 writes what it has gathered to its tables whenever IDs go back.
 */
export function runWriting<T>(db: Database, writing: Writing<T>, late?: LateWork[]): T {
  let step = writing.next();
  while (step.done !== true) {
    const { sql, values, reads, search } = step.value;
    if (search && late) late.push(changeSearchLate(db, search));
    else if (!reads) db.run(sql, ...values);
    step = writing.next(reads ? db.rows(sql, ...values) : NO_ROWS);
  }
  return step.value;
}

function changeSearchLate(db: Database, { table, sortKey, text }: SearchChange): LateWork {
  if (sortKey === undefined) {
    const id = db.lastRowId;
    return { id, run: () => void db.run(`INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (?, ?)`, id, text) };
  }
  const [id] = db.row<[number]>(`SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?`, sortKey)!;
  return { id, run: () => void db.run(`UPDATE "${table}_SEARCH" SET "FOLDED" = ? WHERE rowid = ?`, text, id) };
}

/**
 * Retries while another process is busy. SQLite's own busy timeout is not enough: it fails at once when two processes
 * want to lock the whole file, to avoid a deadlock.
 */
export function retryWhileBusy(timeoutMs: number, work: () => void): void {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return work();
    } catch (fault) {
      if (faultOf(fault) !== 'busy' || performance.now() > giveUpAt) throw fault;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * OPENING_RETRY_MS);
  }
}

/** Brings to the disk what any process has committed so far, whether it has synced it or not. */
export async function syncLog(file: string): Promise<void> {
  if (!existsSync(`${file}-wal`)) return;
  const log = await open(`${file}-wal`);
  try {
    await log.datasync();
  } finally {
    await log.close();
  }
}

const CODES = { busy: [5, 261, 517, 6, 262], full: [13, 4874], fatal: [10, 11, 26] };

/** Told of a fault after which a file cannot be trusted. From then on, what it answers is answered to all calls. */
export type OnFatal = (fault: unknown) => Refusal;

/** The fault, whose message says which file it is about. */
export function nameFile(fault: unknown, file: string): unknown {
  if (fault instanceof Error && !fault.message.startsWith(file)) fault.message = `${file}: ${fault.message}`;
  return fault;
}

/** `busy` passes, `full` passes once there is space, `fatal` means that the file or the disk is damaged. */
export function faultOf(error: unknown): 'busy' | 'full' | 'fatal' | 'other' {
  const code = (error as { errcode?: number }).errcode;
  if (code === undefined) return 'other';
  if (CODES.busy.includes(code)) return 'busy';
  if (CODES.full.includes(code)) return 'full';
  return CODES.fatal.includes(code & 0xff) ? 'fatal' : 'other';
}

export const sqliteVersion = (): string => process.versions['sqlite'] ?? '0';
