/**
 * Group commit of one tenant: writes that wait at the same moment share a transaction, and their callers get a response
 * when it is on disk. The transaction first locks the tenant, so the writes of all nodes queue. Source: decision 0020.
 */
import { DatabaseError } from 'pg';
import type { Clock } from '../../../clock.ts';
import { Refusal, refuseForNow, type Outcome } from '../../../errors.ts';
import type { StartedScript } from '../../pims/script-runner.ts';
import type { Connection } from '../connection/connection.ts';
import type { Pool, SharedConnection } from '../connection/shared-connection.ts';
import { NUMBERS_GUESSED, runGroup, type Begin, type Locked } from './write-group.ts';

interface PostgresWrite {
  readonly begin: Begin;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  readonly since: number;
  readonly size: number;
}

/** The wait after which a write is refused, because its caller is about to give up. */
const WAIT_MS = 1200;
const GROUP_SIZE_MAX = 100;
/** The routine of Citus that refuses a statement on a worker. The SQLSTATE is XX000, as for any internal error. */
const ONLY_ON_COORDINATOR = 'EnsureCoordinator';

export interface PostgresWriteQueueOptions {
  readonly writers: Pool;
  /** Connections for writes that change the schema. With Citus, they connect to the coordinator. */
  readonly schemaWriters: Pool;
  readonly place: number;
  readonly clock: Clock;
  /** Locks the tenant in the first statement of every transaction. */
  readonly lock: (connection: Connection) => Promise<Locked>;
  /** Called when a group is committed. */
  readonly onCommit: () => void;
}

export function makePostgresQueue({ writers, schemaWriters, place, clock, lock, onCommit }: PostgresWriteQueueOptions) {
  /** The numbers to try before the tenant is locked. Other nodes may have assigned them already. */
  let expected = NUMBERS_GUESSED;
  const waiting: PostgresWrite[] = [];
  let isWorking = false;
  /**
   * Commits writes together. A fault of one undoes them all. Each then runs in a separate transaction, so that the
   * fault affects no other.
   */
  const commitGroup = async (
    connection: SharedConnection,
    writes: readonly PostgresWrite[],
    isOnCoordinator = false,
  ) => {
    try {
      const begins = writes.map(({ begin }) => begin);
      const { outcomes, next } = await connection.transaction((open) => runGroup(open, begins, lock(open), expected));
      expected = next;
      for (const [index, { resolve }] of writes.entries()) resolve(outcomes[index] as never);
      onCommit();
    } catch (fault) {
      if (writes.length > 1 && !(fault instanceof Refusal))
        for (const item of writes) await commitGroup(connection, [item]);
      else if (fault instanceof DatabaseError && fault.routine === ONLY_ON_COORDINATOR && !isOnCoordinator)
        await schemaWriters.use(0, (writer) => commitGroup(writer, writes, true));
      else answerAll(writes, fault);
    }
  };
  const flushScripts = async () => {
    while (waiting.length > 0) {
      const group = takeGroup(waiting).filter((item) => {
        const isLate = clock.elapsed() - item.since > WAIT_MS;
        if (isLate)
          item.resolve(refuseForNow('SERVICE_BUSY', 'Too many writes are waiting; nothing was written.') as never);
        return !isLate;
      });
      if (group.length === 0) continue;
      await writers
        .use(place, (connection) => commitGroup(connection, group))
        .catch((fault: unknown) => answerAll(group, fault));
    }
    isWorking = false;
  };
  /** Runs a script inside the next transaction. Resolves when its outcome is on disk. */
  return function enqueueScript<T>(begin: () => StartedScript<T>, size: number): Promise<Outcome<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
    waiting.push({ begin, resolve, reject, since: clock.elapsed(), size });
    if (!isWorking) {
      isWorking = true;
      setImmediate(() => void flushScripts());
    }
    return promise;
  };
}

/** Takes the first waiting writes: at least one, and at most GROUP_SIZE_MAX steps together. */
function takeGroup(waiting: PostgresWrite[]): PostgresWrite[] {
  let count = 0;
  for (let size = 0; count < waiting.length; count++) {
    size += waiting[count]!.size;
    if (count > 0 && size > GROUP_SIZE_MAX) break;
  }
  return waiting.splice(0, count);
}

function answerAll(group: readonly PostgresWrite[], fault: unknown): void {
  for (const { resolve, reject } of group)
    if (fault instanceof Refusal) resolve(fault as never);
    else reject(fault);
}
