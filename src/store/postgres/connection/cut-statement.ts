/** Ends a statement early, when enough rows have arrived or no one waits, without affecting the next statement. */
import type { Turn } from '../../../tenant/turns.ts';
import type { Row } from '../../writing.ts';
import type { Connection, StatementValues } from './connection.ts';

export interface CutOptions {
  /** `end` ends the statement while it runs. */
  readonly turn: Turn;
  /** Cancels the statement that runs in a server process. Resolves when the server has signalled the process. */
  readonly cancel: (serverPid: number) => Promise<unknown>;
}

/**
 * Runs a statement and passes its rows to `take` until that returns false. The rest then stays in the network until the
 * server has canceled the statement, so that at most a socket's buffer arrives.
 */
export async function queryUntil<R extends Row>(
  connection: Connection,
  sql: string,
  values: StatementValues,
  take: (row: R) => boolean,
  { turn, cancel }: CutOptions,
): Promise<void> {
  // This is sent before the first statement, without waiting for its result.
  const pid = connection.serverPid();
  pid.catch(() => undefined);
  let cutting: Promise<unknown> | undefined;
  const cut = (): void => {
    if (cutting) return;
    connection.pause();
    cutting = pid
      .then(cancel)
      // A cancellation with an unknown outcome could cancel the next statement.
      .catch(() => connection.destroy('a statement could not be canceled'))
      .finally(() => connection.resume());
  };
  turn.end = cut;
  try {
    await connection.queryEach<R>(sql, values, (row) => {
      if (!cutting && !take(row)) cut();
    });
  } catch (fault) {
    // There are enough rows, so the way in which the statement ended does not matter.
    if (!cutting) throw fault;
  } finally {
    turn.end = undefined;
    await cutting;
  }
}
