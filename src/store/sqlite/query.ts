/** Runs one page of a query on a connection; the event loop and the worker threads share it. */
import { BUDGET_MESSAGE, type Database } from './database.ts';
import type { Page } from '../../pims/port.ts';
import { cutPage } from '../pims/page.ts';

/** A query of (SORT_KEY, record as JSON), at most `limit` + 1 rows. Plain data, so that it can cross to a thread. */
export interface PageQuery {
  readonly sql: string;
  readonly values: string[];
  readonly limit: number;
  readonly bytesMax: number;
}

/** The page, or undefined when the time budget was used up first. */
export function runPage(db: Database, { sql, values, limit, bytesMax }: PageQuery, budgetMs: number): Page | undefined {
  let rows: [string, string][];
  try {
    rows = db.withBudget(budgetMs, () => db.rows<[string, string]>(sql, ...values, limit + 1));
  } catch (fault) {
    if (fault instanceof Error && fault.message === BUDGET_MESSAGE) return undefined;
    throw fault;
  }
  return cutPage(rows, limit, bytesMax);
}
