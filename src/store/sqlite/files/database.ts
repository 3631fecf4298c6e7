/** Connections to SQLite files: how they are opened, their prepared statements, and the time budgets of reads. */
import { accessSync, constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { refuseCommand, type Refusal } from '../../../errors.ts';
import { compareDecimals } from '../../../pims/rules/decimal.ts';
import { containsFolded } from '../../../pims/reads/query.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import type { Bound, Row } from '../../sql/writing.ts';

export interface OpenOptions {
  /** `write`: writes to an existing file. `make`: also creates a missing file. `read`: never writes. */
  readonly mode: 'write' | 'make' | 'read';
  /** Time to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  /** Time to wait for another process that opens or creates the same file. */
  readonly openingTimeoutMs?: number;
  /** Bytes of the file that a reader maps. */
  readonly mapBytes?: number;
  /** Whether a reader also opens a file on a read-only disk. No process may make the disk writable meanwhile. */
  readonly mayBeFrozen?: boolean;
}

export const OPENING_TIMEOUT_MS = 5000;
const OPENING_RETRY_MS = 10;
const CACHE_KIB = 4096;
/** Bytes of the file that a reader maps into memory. Pages that it has read count as memory of the process. */
const MAP_BYTES = 256 * 1024 * 1024;
/** The size that a restarted log is truncated to. Writing into existing space is synced faster. */
const LOG_BYTES_KEPT = 32 * 1024 * 1024;
const STATEMENTS_MAX = 256;
/** Any other statement counts as a change: a missed change would stay in its group, a false one costs a savepoint. */
const READS = /^(SELECT|WITH RECURSIVE) /;
/** Maximum rows between two looks at the clock. The first looks are early, because rows can be large. */
const ROWS_PER_LOOK = 64;
/** Characters whose folding costs about as much as reading a row. */
const CHARACTERS_PER_ROW = 128;
/** The longest statement reads an order with its lines, both with 400 fields of 63 characters: 120,000. */
const LIMITS = { attach: 0, exprDepth: 200, variableNumber: 1000, sqlLength: 200_000 };

/** Maximum characters that a walk passes to our functions before it restarts. */
const WALK_CHARACTERS_MAX = 8 * 1024 * 1024;
const PAUSE_MESSAGE = 'walk paused';
const BUDGET_MESSAGE = 'time budget used up';
/** The result of a read whose time budget was used up. */
export const CUT_SHORT = Symbol('cut short');

/** Limits of a read. */
export interface Budget {
  readonly ms: number;
  readonly isEnded: () => boolean;
}

export class Database {
  readonly file: string;
  /** Grows with each statement that may have changed a row. */
  changes = 0;
  /** The ID of the row that `runSql` inserted last. */
  lastRowId = 0;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #iterated = new Set<string>();
  #deadline = Infinity;
  /** Characters passed to our functions since a row was fetched. */
  #characters = 0;
  /** Position of the last row that a walk has looked at. */
  #walkedTo = '';
  #isEnded: () => boolean = () => false;
  #rows = 0;
  #rowsPerLook = ROWS_PER_LOOK;

  constructor(
    file: string,
    { mode, busyTimeoutMs, openingTimeoutMs = OPENING_TIMEOUT_MS, mapBytes, mayBeFrozen }: OpenOptions,
  ) {
    this.file = file;
    if (mode !== 'read') requireWritable(file);
    // The longest value a reader builds, in bytes, is an order with its lines.
    const limits = mode === 'read' ? { ...LIMITS, length: ORDER_CHARACTERS_MAX } : LIMITS;
    const options = { readOnly: false, timeout: busyTimeoutMs, limits, enableForeignKeyConstraints: true };
    let opened: DatabaseSync | undefined;
    try {
      opened = this.#connection = new DatabaseSync(mode === 'make' ? file : locate(file, mayBeFrozen), options);
      retryWhileBusy(openingTimeoutMs, () => this.#configure(mode, mapBytes));
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
    this.#connection.function('walk_row', { deterministic: false, varargs: true }, (...position) => {
      if (this.#characters > WALK_CHARACTERS_MAX) throw new Error(PAUSE_MESSAGE);
      this.#walkedTo = position.join('\0');
      this.#characters += this.#walkedTo.length;
      return this.#chargeRows(1);
    });
    this.#connection.function('compare_decimals', { deterministic: true }, (number, value) => {
      this.#characters += String(number).length + String(value).length;
      this.#chargeRows(1);
      return compareDecimals(String(number), String(value));
    });
    this.#connection.function('charge_row', { deterministic: false }, (_row) => this.#chargeRows(1));
  }

  #configure(mode: OpenOptions['mode'], mapBytes = MAP_BYTES): void {
    this.exec(`PRAGMA trusted_schema=OFF; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-${CACHE_KIB}`);
    if (mode !== 'read') {
      this.#keepLog();
      this.exec(`PRAGMA journal_size_limit=${LOG_BYTES_KEPT}; PRAGMA synchronous=FULL`);
    } else this.exec(`PRAGMA query_only=ON; PRAGMA mmap_size=${mapBytes}`);
  }

  /** Bounds the memory for pages, and frees the excess. */
  limitCache(kib: number): void {
    this.exec(`PRAGMA cache_size=-${kib}`);
  }

  /** Prepares a statement, or returns the prepared one. Drops the oldest of too many. */
  #statement(sql: string): StatementSync {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.delete(this.#statements.keys().next().value!);
    this.#statements.set(sql, statement);
    return statement;
  }

  runSql(sql: string, ...values: Bound[]): number {
    const statement = this.#statement(sql);
    // node:sqlite also reads the last row's ID, and throws if FTS5 has given a row of an index an ID beyond 2^53.
    statement.setReadBigInts(true);
    const { changes, lastInsertRowid } = statement.run(...values);
    this.lastRowId = Number(lastInsertRowid);
    this.changes += Number(changes);
    return Number(changes);
  }

  row<R extends Row>(sql: string, ...values: Bound[]): R | undefined {
    if (!READS.test(sql)) this.changes++;
    return this.#statement(sql).get(...values) as R | undefined;
  }

  rows<R extends Row>(sql: string, ...values: Bound[]): R[] {
    if (!READS.test(sql)) this.changes++;
    return this.#statement(sql).all(...values) as unknown as R[];
  }

  /** Returns rows one by one. Run the same statement again only when you have read them all, or have stopped. */
  each<R extends Row>(sql: string, ...values: Bound[]): IterableIterator<R> {
    this.#iterated.add(sql);
    return this.#statement(sql).iterate(...values) as unknown as IterableIterator<R>;
  }

  /**
   * Returns the rows of a statement that calls `walk_row(key)` or `walk_row(value, key)` for every row it looks at, in
   * their order. Restarts after the last such row from time to time, because Node keeps all texts that our functions
   * receive until a statement returns a row.
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

  /** Returns rows one by one, from a new statement. Do not write on the connection until the end. */
  iterate<R extends Row>(sql: string, ...values: Bound[]): IterableIterator<R> {
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    return statement.iterate(...values) as unknown as IterableIterator<R>;
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  inTransaction(work: () => void): void {
    this.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.exec('COMMIT');
    } catch (fault) {
      this.exec('ROLLBACK');
      throw fault;
    }
  }

  /** Runs statements that call `charge_row` or `walk_row`, within the budget. Returns CUT_SHORT when it is used up. */
  withBudget<T>({ ms, isEnded }: Budget, work: () => T): T | typeof CUT_SHORT {
    this.#deadline = performance.now() + ms;
    this.#isEnded = isEnded;
    this.#rows = 0;
    this.#rowsPerLook = 1;
    this.#characters = 0;
    try {
      return work();
    } catch (fault) {
      // A statement that failed while its rows were read would fail again.
      for (const sql of this.#iterated) this.#statements.delete(sql);
      if (fault instanceof Error && [BUDGET_MESSAGE, PAUSE_MESSAGE].includes(fault.message)) return CUT_SHORT;
      throw fault;
    } finally {
      this.#deadline = Infinity;
      if (this.#iterated.size > 0) this.#iterated.clear();
    }
  }

  /** The connection, for node:sqlite's own backup. */
  get connection(): DatabaseSync {
    return this.#connection;
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #chargeRows(rows: number): number {
    this.#rows += rows;
    if (this.#rows < this.#rowsPerLook) return 1;
    this.#rows = 0;
    this.#rowsPerLook = Math.min(this.#rowsPerLook * 2, ROWS_PER_LOOK);
    if (performance.now() > this.#deadline || this.#isEnded()) throw new Error(BUDGET_MESSAGE);
    return 1;
  }

  /** Turns the write-ahead log on. SQLite keeps another journal mode without an error, so the mode is checked. */
  #keepLog(): void {
    const [mode] = this.row<[string]>('PRAGMA journal_mode=wal')!;
    if (mode === 'wal') return;
    const hint = 'Use a local disk, not a network or memory file system.';
    throw new Error(`${this.file}: journal_mode is ${mode}, but must be wal. ${hint}`);
  }
}

/**
 * Returns the URL of a file, with which SQLite does not create a missing file. On a read-only disk, SQLite can create
 * no log either, and reads a file without one only as a file that does not change.
 */
function locate(file: string, mayBeFrozen = false): URL {
  const url = pathToFileURL(file);
  const isFrozen = mayBeFrozen && !existsSync(`${file}-wal`) && findBar(dirname(file))?.endsWith(READ_ONLY_DISK);
  url.search = isFrozen ? '?mode=ro&immutable=1' : '?mode=rw';
  return url;
}

/** Returns why this user cannot read and write an existing file with its log. SQLite would open it and only read. */
export function findBar(file: string): string | undefined {
  for (const path of [file, `${file}-wal`, `${file}-shm`])
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (fault) {
      const { code } = fault as NodeJS.ErrnoException;
      if (code === 'EACCES' || code === 'EROFS') return `${path}: this user cannot read and write it (${code})`;
    }
  return undefined;
}

/** The end of what `findBar` returns if the disk is read-only. */
export const READ_ONLY_DISK = '(EROFS)';

/** The remedy for a file that this user cannot write. */
export const OWN_IT = 'Give it the same owner and mode as the other files (systemd: `chown storeroom:storeroom`).';

/** Throws COMMAND_REFUSED if this user cannot write the file or its log. */
export function requireWritable(file: string): void {
  const bar = findBar(file);
  if (bar !== undefined) throw refuseCommand(`${bar}. ${OWN_IT}`);
}

/** Opens a file, works with it, and closes it. */
export function withDatabase<T>(file: string, options: OpenOptions, work: (db: Database) => T): T {
  using db = new Database(file, options);
  return work(db);
}

/**
 * Retries while another process is busy. SQLite's own busy timeout is not enough: to avoid a deadlock, it fails at once
 * when two processes want to lock the whole file.
 */
export function retryWhileBusy<T>(timeoutMs: number, work: () => T): T {
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

/** Syncs the log, with the commits of every process. */
export async function syncLog(file: string): Promise<void> {
  if (!existsSync(`${file}-wal`)) return;
  await using log = await open(`${file}-wal`);
  await log.datasync();
}

const CODES = { busy: [5, 261, 517, 6, 262], full: [13, 4874], fatal: [10, 11, 26] };

/** Returns the extended result code of SQLite, if the fault has one. */
export const errcodeOf = (fault: unknown): number | undefined => (fault as { errcode?: number }).errcode;

/** Receives a fault after which a file cannot be trusted. All later calls get the refusal that it returns. */
export type OnFatal = (fault: unknown) => Refusal;

/** Adds the name of the file to the message of a fault. */
export function nameFile(fault: unknown, file: string): unknown {
  if (fault instanceof Error && !fault.message.startsWith(file)) fault.message = `${file}: ${fault.message}`;
  return fault;
}

/**
 * Returns the kind of a fault: `busy` ends without help, `full` ends when there is space, and `fatal` means a damaged
 * file or disk.
 */
export function faultOf(fault: unknown): 'busy' | 'full' | 'fatal' | 'other' {
  const code = errcodeOf(fault);
  if (code === undefined) return 'other';
  if (CODES.busy.includes(code)) return 'busy';
  if (CODES.full.includes(code)) return 'full';
  return CODES.fatal.includes(code & 0xff) ? 'fatal' : 'other';
}

export const sqliteVersion = (): string => process.versions['sqlite'] ?? '0';
