/** A connection that many callers share. It reopens after a loss, and turns faults of the server into refusals. */
import { refuseForNow } from '../../../errors.ts';
import type { Availability } from './availability.ts';
import { CANCELED, Connection, ConnectionLost, reasonOf, sqlStateOf } from './connection.ts';
import type { ConnectionOptions, StatementValues } from './connection.ts';
import { queryUntil, type CutOptions } from './cut-statement.ts';
import type { Row } from '../../writing.ts';

const TAKES_NO_WRITES = '25006';
const DISK_FULL = '53100';
const TOO_MANY_CONNECTIONS = '53300';
const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40P01';
const BUSY = [CANCELED, LOCK_NOT_AVAILABLE, DEADLOCK];
/** The tenant's schema was removed a moment ago. */
const REMOVED = ['3F000', '42P01'];

export class SharedConnection {
  readonly #options: ConnectionOptions;
  readonly #availability: Availability;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;

  constructor(options: ConnectionOptions, availability: Availability) {
    this.#options = options;
    this.#availability = availability;
  }

  get isOpen(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Runs a statement that can safely be repeated, and repeats it once if its connection is lost. */
  async ask<R extends Row>(sql: string, values: StatementValues): Promise<R[]> {
    try {
      return await this.#twice((connection) => connection.query<R>(sql, values));
    } catch (fault) {
      throw this.#refuse(fault);
    }
  }

  /**
   * Runs work in one transaction, which may leave statements unanswered. If a lost connection undoes the work, repeats
   * it once, but never after COMMIT was sent, because its outcome is then unknown.
   */
  async transaction<T>(work: (connection: Connection) => Promise<T>, isAgain = false): Promise<T> {
    let isCommitSent = false;
    try {
      const connection = await this.#connect();
      try {
        connection.begin();
        const result = await work(connection);
        isCommitSent = true;
        await connection.commit();
        return result;
      } catch (after) {
        const fault = connection.sentFault ?? after;
        await connection.execute('ROLLBACK').catch(() => connection.destroy('it could not be rolled back'));
        throw fault;
      }
    } catch (fault) {
      const isUndone = fault instanceof ConnectionLost && !fault.isSilent && !isCommitSent;
      if (isUndone && !isAgain) return this.transaction(work, true);
      throw this.#refuse(fault);
    }
  }

  /**
   * Runs a statement that can safely be repeated, until it has enough rows. For each try, `begin` returns a function
   * that receives the rows. The caller handles a statement that exceeds its time limit.
   */
  async askUntil<R extends Row>(
    { sql, values }: { readonly sql: string; readonly values: StatementValues },
    begin: () => (row: R) => boolean,
    options: CutOptions,
  ): Promise<void> {
    try {
      await this.#twice((connection) => queryUntil(connection, sql, values, begin(), options));
    } catch (fault) {
      throw sqlStateOf(fault) === CANCELED ? fault : this.#refuse(fault);
    }
  }

  destroy(): void {
    this.#connection?.destroy('the database is gone', true);
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await this.#connection?.close();
  }

  /** Throws STORE_UNAVAILABLE if no connection can be opened. */
  async #connect(): Promise<Connection> {
    this.#availability.check();
    if (this.#connection?.isOpen) return this.#connection;
    return (this.#opening ??= this.#open());
  }

  async #twice<T>(ask: (connection: Connection) => Promise<T>): Promise<T> {
    // If a connection could not be opened in time, there is no second try, because the caller has waited long enough.
    const connection = await this.#connect();
    try {
      return await ask(connection);
    } catch (fault) {
      if (!(fault instanceof ConnectionLost) || fault.isSilent) throw fault;
      return await ask(await this.#connect());
    }
  }

  /** Turns a fault into a refusal. A server that is silent or accepts no writes counts as lost for all callers. */
  #refuse(fault: unknown): unknown {
    const state = sqlStateOf(fault) ?? '';
    if (fault instanceof ConnectionLost && fault.isSilent) this.#availability.lose(fault.cause);
    if (state === TAKES_NO_WRITES) this.#availability.lose('it accepts no writes');
    if (state === TAKES_NO_WRITES || REMOVED.includes(state)) return new ConnectionLost(reasonOf(fault));
    if (state === DISK_FULL) return refuseForNow('STORAGE_FULL', undefined, 30);
    if (!BUSY.includes(state)) return fault;
    const message = 'The database is busy, or a row is locked; nothing was written.';
    return refuseForNow('SERVICE_BUSY', message);
  }

  async #open(): Promise<Connection> {
    const before = this.#connection;
    try {
      this.#connection = await Connection.open(this.#options, this.#availability.url);
      void before?.close();
      return this.#connection;
    } catch (fault) {
      if (sqlStateOf(fault) === TOO_MANY_CONNECTIONS)
        throw refuseForNow('SERVICE_BUSY', 'The database accepts no more connections.');
      this.#availability.suspect();
      throw new ConnectionLost(reasonOf(fault));
    } finally {
      this.#opening = undefined;
    }
  }
}
