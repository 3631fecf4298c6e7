/**
 * Group commit of one tenant: writes that wait at the same moment share a transaction and are answered once it is on
 * disk. The transaction begins by locking the tenant, so the writes of all nodes queue up. Source: decision 0020.
 */
import { Refusal, type Outcome } from '../../errors.ts';
import type { Row, Writing } from '../writing.ts';
import { ConnectionLost, type Connection } from './connection.ts';
import type { Pool } from './pool.ts';
import type { SharedConnection } from './shared-connection.ts';

interface PostgresWrite {
  readonly work: () => Writing<Outcome<unknown>>;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  readonly since: number;
}

/** A write that has waited this long is refused: its caller is about to give up. */
const WAIT_MS = 1200;
const GROUP_MAX = 100;

export class PostgresWriteQueue {
  readonly #writers: Pool;
  readonly #place: number;
  /** Locks the tenant, first thing in every transaction, and follows its dictionaries. */
  readonly #lock: (connection: Connection) => Promise<void>;
  #waiting: PostgresWrite[] = [];
  #isWorking = false;

  constructor(writers: Pool, place: number, lock: (connection: Connection) => Promise<void>) {
    this.#writers = writers;
    this.#place = place;
    this.#lock = lock;
  }

  /** Runs a write inside the next transaction. Resolves when its outcome is on disk. */
  run<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
    this.#waiting.push({ work, resolve, reject, since: performance.now() });
    if (!this.#isWorking) {
      this.#isWorking = true;
      setImmediate(() => void this.#flush());
    }
    return promise;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP_MAX).filter((item) => {
        const isLate = performance.now() - item.since > WAIT_MS;
        if (isLate) item.resolve(tooManyWrites() as never);
        return !isLate;
      });
      if (group.length === 0) continue;
      await this.#writers
        .use(this.#place, (connection) => this.#commit(connection, group))
        .catch((fault: unknown) => answerAll(group, fault));
    }
    this.#isWorking = false;
  }

  /**
   * A fault of one write undoes the whole transaction; then each write gets its own, so the fault hits no other. What
   * a lost connection has undone is retried once.
   */
  async #commit(connection: SharedConnection, group: readonly PostgresWrite[], isAgain = false): Promise<void> {
    try {
      const outcomes = await connection.transaction((open) => this.#runAll(open, group));
      for (const [index, { resolve }] of group.entries()) resolve(outcomes[index] as never);
    } catch (fault) {
      if (fault instanceof ConnectionLost && fault.isUndone && !fault.isSilent && !isAgain)
        return this.#commit(connection, group, true);
      if (group.length === 1 || fault instanceof Refusal) answerAll(group, fault);
      else for (const item of group) await this.#commit(connection, [item]);
    }
  }

  async #runAll(connection: Connection, group: readonly PostgresWrite[]): Promise<unknown[]> {
    await this.#lock(connection);
    const outcomes: unknown[] = [];
    for (const { work } of group) {
      const { result, hasWritten } = await runWriting(connection, work());
      if (result instanceof Refusal && hasWritten)
        throw new Error(`A write was refused after it had begun to write: ${result.code}`);
      outcomes.push(result);
    }
    return outcomes;
  }
}

const tooManyWrites = (): Refusal =>
  new Refusal('SERVICE_BUSY', 'Too many writes are waiting; nothing was written.', { retryAfterSeconds: 1 });

function answerAll(group: readonly PostgresWrite[], fault: unknown): void {
  for (const { resolve, reject } of group)
    if (fault instanceof Refusal) resolve(fault as never);
    else reject(fault);
}

/** Runs a writing: waits for the statements that read, and sends the others without waiting. Throws the first fault. */
export async function runWriting<T>(
  connection: Connection,
  writing: Writing<T>,
): Promise<{ result: T; hasWritten: boolean }> {
  const sent: Promise<Row[]>[] = [];
  try {
    let step = writing.next();
    while (!step.done) {
      const { sql, values, reads } = step.value;
      const answer = connection.query(sql, values);
      if (!reads) {
        answer.catch(() => undefined);
        sent.push(answer);
      }
      step = writing.next(reads ? await answer : []);
    }
    await Promise.all(sent);
    return { result: step.value, hasWritten: sent.length > 0 };
  } catch (fault) {
    // The first statement that failed says why; those behind it only that the transaction had failed.
    if (!(fault instanceof ConnectionLost)) await Promise.all(sent);
    throw fault;
  }
}
