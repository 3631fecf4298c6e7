/** Ends a statement early, when enough rows have come or no one waits, without harm to the next statement. */
import type { Turn } from '../../../tenant/turns.ts';
import type { Row } from '../../writing.ts';
import type { Connection, StatementValues } from './connection.ts';

export interface CutOptions {
  /** `end` ends the statement while it runs. */
  readonly turn: Turn;
  /** Cancels what runs in a process of the server. Resolves once the server has told the process. */
  readonly cancel: (serverPid: number) => Promise<unknown>;
}

/**
 * Runs a statement and hands over its rows until `take` answers false. Then the rest stays in the network until the
 * server has canceled the statement, so that no more than a socket's buffer comes in.
 */
export async function queryUntil<R extends Row>(
  connection: Connection,
  sql: string,
  values: StatementValues,
  take: (row: R) => boolean,
  { turn, cancel }: CutOptions,
): Promise<void> {
  // Sent before the first statement, without waiting for its answer.
  const pid = connection.serverPid();
  pid.catch(() => undefined);
  let cutting: Promise<unknown> | undefined;
  const cut = (): void => {
    if (cutting) return;
    connection.pause();
    cutting = pid
      .then(cancel)
      // A cancellation whose fate is unknown could meet the next statement.
      .catch(() => connection.destroy('a statement could not be canceled'))
      .finally(() => connection.resume());
  };
  turn.end = cut;
  try {
    await connection.queryEach<R>(sql, values, (row) => {
      if (!cutting && !take(row)) cut();
    });
  } catch (fault) {
    // Enough was taken, however the statement ended.
    if (!cutting) throw fault;
  } finally {
    turn.end = undefined;
    await cutting;
  }
}
