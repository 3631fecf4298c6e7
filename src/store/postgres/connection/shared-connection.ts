/**
 * A connection that many callers share. It reopens after a loss, turns faults of the server into refusals, and can end
 * a statement early. A pool lends each connection to one user at a time; its queue of waiting users is bounded.
 */
import type { Clock, Timer } from '../../../clock.ts';
import { Refusal, refuseForNow } from '../../../errors.ts';
import type { Turn } from '../../../tenant/turns.ts';
import type { PoolMeasures } from '../../sql/measures.ts';
import type { Row } from '../../sql/writing.ts';
import {
  CANCELED,
  ConnectionLost,
  openConnection,
  reasonOf,
  sqlStateOf,
  type Connection,
  type ConnectionOptions,
  type StatementValues,
} from './connection.ts';
import type { Availability } from './servers.ts';

export interface CutOptions {
  /** While the statement runs, the `end` of this turn ends it. */
  readonly turn: Turn;
  /** Cancels the statement that runs in a server process. Resolves when the server has signalled the process. */
  readonly cancel: (serverPid: number) => Promise<unknown>;
}

/**
 * Runs a statement and passes its rows to `take` until that returns false. The rest then stays in the network until the
 * server has canceled the statement, so that at most a socket's buffer arrives.
 */
async function queryUntil<R extends Row>(
  connection: Connection,
  sql: string,
  values: StatementValues,
  take: (row: R) => boolean,
  { turn, cancel }: CutOptions,
): Promise<void> {
  // Ask for the process before running the statement, without waiting for the answer.
  const pid = connection.serverPid();
  pid.catch(() => undefined);
  let cutting: Promise<unknown> | undefined;
  const cutStatement = (): void => {
    if (cutting) return;
    connection.pause();
    cutting = pid
      .then(cancel)
      // A cancellation with an unknown outcome could cancel the next statement.
      .catch(() => connection.destroy('a statement could not be canceled'))
      .finally(() => connection.resume());
  };
  turn.end = cutStatement;
  try {
    await connection.queryEach<R>(sql, values, (row) => {
      if (!cutting && !take(row)) cutStatement();
    });
  } catch (fault) {
    // The statement was meant to end early, so how it ended does not matter.
    if (!cutting) throw fault;
  } finally {
    turn.end = undefined;
    await cutting;
  }
}

const TAKES_NO_WRITES = '25006';
const DISK_FULL = '53100';
const TOO_MANY_CONNECTIONS = '53300';
const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40P01';
const BUSY = [CANCELED, LOCK_NOT_AVAILABLE, DEADLOCK];
/** SQLSTATEs of a tenant's schema that was just removed. */
const REMOVED = ['3F000', '42P01'];

/** Keeps a connection open: opens another one after a loss. */
function keepOpen(options: ConnectionOptions, availability: Availability) {
  let connection: Connection | undefined;
  /** The newest connection, which may not be open yet. */
  let begun: Connection | undefined;
  let opening: Promise<Connection> | undefined;
  const reopen = async () => {
    const before = connection;
    try {
      connection = await openConnection(options, availability.url(), (one) => (begun = one));
      void before?.close();
      return connection;
    } catch (fault) {
      if (sqlStateOf(fault) === TOO_MANY_CONNECTIONS)
        throw refuseForNow('SERVICE_BUSY', 'The database accepts no more connections.');
      availability.suspect();
      throw new ConnectionLost(reasonOf(fault));
    } finally {
      opening = undefined;
    }
  };
  return {
    /** Whether no statement is running. */
    get isIdle() {
      return connection?.isIdle ?? true;
    },
    get isOpen() {
      return connection?.isOpen === true;
    },
    /** Opens the connection unless it is open. Throws STORE_UNAVAILABLE or SERVICE_BUSY. */
    requireOpen: async (): Promise<Connection> => {
      availability.requireAvailable();
      return connection?.isOpen ? connection : (opening ??= reopen());
    },
    destroy() {
      for (const one of [connection, begun]) one?.destroy('the database is unavailable', true);
    },
    async close() {
      await opening?.catch(() => undefined);
      await connection?.close();
    },
  };
}

/** Turns a fault into a refusal. A server that is silent or accepts no writes counts as lost for all callers. */
function refuseFault(fault: unknown, { lose }: Availability): unknown {
  const state = sqlStateOf(fault) ?? '';
  if (fault instanceof ConnectionLost && fault.isSilent) lose(fault.cause);
  if (state === TAKES_NO_WRITES) lose('it accepts no writes');
  if (state === TAKES_NO_WRITES || REMOVED.includes(state)) return new ConnectionLost(reasonOf(fault));
  if (state === DISK_FULL) return refuseForNow('STORAGE_FULL', undefined, 30);
  if (!BUSY.includes(state)) return fault;
  const message = 'The database is busy, so nothing was written.';
  return refuseForNow('SERVICE_BUSY', message);
}

export type SharedConnection = ReturnType<typeof shareConnection>;

export function shareConnection(options: ConnectionOptions, availability: Availability) {
  const kept = keepOpen(options, availability);
  const { requireOpen } = kept;
  const askTwice = async <T>(ask: (connection: Connection) => Promise<T>): Promise<T> => {
    // If a connection could not be opened in time, there is no second try, because the caller has waited long enough.
    const connection = await requireOpen();
    try {
      return await ask(connection);
    } catch (fault) {
      if (!(fault instanceof ConnectionLost) || fault.isSilent) throw fault;
      return await ask(await requireOpen());
    }
  };
  /**
   * Runs work in one transaction. The work need not wait for its statements. If a lost connection undoes it, repeats it
   * once, but never after COMMIT was sent, because the outcome is then unknown.
   */
  const transaction = async <T>(work: (connection: Connection) => Promise<T>, isAgain = false): Promise<T> => {
    let isCommitSent = false;
    try {
      const connection = await requireOpen();
      try {
        connection.beginTransaction();
        const result = await work(connection);
        isCommitSent = true;
        await connection.commitTransaction();
        return result;
      } catch (after) {
        const fault = connection.sentFault ?? after;
        await connection.execute('ROLLBACK').catch(() => connection.destroy('a transaction could not be rolled back'));
        throw fault;
      }
    } catch (fault) {
      const isUndone = fault instanceof ConnectionLost && !fault.isSilent && !isCommitSent;
      if (isUndone && !isAgain) return transaction(work, true);
      throw refuseFault(fault, availability);
    }
  };
  return Object.assign(kept, {
    transaction,
    /** Runs a statement that can safely be repeated, and repeats it once if its connection is lost. */
    askRows: <R extends Row>(sql: string, values: StatementValues): Promise<R[]> =>
      askTwice((connection) => connection.query<R>(sql, values)).catch((fault: unknown) => {
        throw refuseFault(fault, availability);
      }),
    /**
     * Runs a statement that can safely be repeated, until it has enough rows. For each try, `begin` returns a function
     * that receives the rows. The caller handles a statement that exceeds its time limit.
     */
    askUntil: <R extends Row>(
      { sql, values }: { readonly sql: string; readonly values: StatementValues },
      begin: () => (row: R) => boolean,
      cut: CutOptions,
    ): Promise<void> =>
      askTwice((connection) => queryUntil(connection, sql, values, begin(), cut)).catch((fault: unknown) => {
        throw sqlStateOf(fault) === CANCELED ? fault : refuseFault(fault, availability);
      }),
  });
}

const WAITING_MAX = 200;
const WAIT_MS = 800;

interface Borrower {
  readonly lend: (connection: SharedConnection) => void;
  readonly giveUp: Timer;
}

export type Pool = ReturnType<typeof makePool>;

export function makePool(all: readonly SharedConnection[], clock: Clock) {
  const free = [...all];
  const waiting = new Set<Borrower>();
  const takeFree = (place: number): SharedConnection | undefined => {
    const preferred = free.indexOf(all[place % all.length]!);
    return preferred >= 0 ? free.splice(preferred, 1)[0] : free.pop();
  };
  const waitForFree = (): Promise<SharedConnection> => {
    const busy = (): Refusal => refuseForNow('SERVICE_BUSY', 'All connections to the database are in use.');
    if (waiting.size >= WAITING_MAX) throw busy();
    return new Promise((lend, reject) => {
      const giveUp = clock.after(WAIT_MS, () => {
        waiting.delete(borrower);
        reject(busy());
      });
      const borrower = { lend, giveUp };
      waiting.add(borrower);
    });
  };
  return {
    /**
     * Lends a connection, preferably the one at `place`, which knows the tenant. Throws SERVICE_BUSY if too many users
     * wait or one waits too long.
     */
    async use<T>(place: number, work: (connection: SharedConnection) => Promise<T>): Promise<T> {
      const connection = takeFree(place) ?? (await waitForFree());
      try {
        return await work(connection);
      } finally {
        const [next] = waiting;
        if (next) {
          waiting.delete(next);
          next.giveUp.close();
          next.lend(connection);
        } else free.push(connection);
      }
    },
    get poolMeasures(): PoolMeasures {
      const size = all.filter(({ isOpen }) => isOpen).length;
      return { size, inUse: all.length - free.length, waiting: waiting.size };
    },
    destroy() {
      for (const connection of all) connection.destroy();
    },
    async close() {
      await Promise.all(all.map((connection) => connection.close()));
    },
  };
}
