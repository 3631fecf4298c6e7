/** Makes a tenant's file as an older version left it. */
import { globSync, readFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sortKey } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';

/** Number of migrations of a tenant in the older version. */
export const OLD_SCHEMA = 2;

/** Replaces a tenant's file with an old one that has this many orders. */
export function makeOld(file: string, orders: number): void {
  for (const path of globSync(`${file}*`)) rmSync(path);
  const db = new DatabaseSync(file);
  for (const script of globSync(`src/store/sqlite/migrations/pims-000[1-${OLD_SCHEMA}].sql`).toSorted())
    db.exec(readFileSync(script, 'utf8'));
  const insert = db.prepare("INSERT INTO ORDERS (SORT_KEY, ORDER_NUMBER, ORDER_TYPE) VALUES (?, ?, 'sales_order')");
  db.exec('BEGIN');
  for (const number of times(orders, (at) => String(10_001 + at))) insert.run(sortKey(number), number);
  db.exec("INSERT INTO ORDERS_SEARCH (rowid, FOLDED) SELECT ID, '' FROM ORDERS");
  db.exec(`UPDATE COUNTERS SET NEXT = ${10_001 + orders} WHERE NAME = 'orders'; PRAGMA user_version=${OLD_SCHEMA}`);
  db.exec('COMMIT');
  db.close();
}
