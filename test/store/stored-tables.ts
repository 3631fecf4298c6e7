/**
 * The tables of an embedded store as its files have them, with the rows that tests damage; and a store of either kind
 * that has rows in the tables that `check` reads.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as operations from '../../src/pims/operations.ts';
import { RequestLog } from '../../src/request-log/request-log.ts';
import { LOGGED_CALL } from '../kit/logged-call.ts';
import { valuesOf } from '../kit/lists.ts';
import { TestClock } from '../kit/clock.ts';
import { accepted, entry, idempotency, NOW, Pims, write, type OpenedStore } from './store-under-test.ts';

const DAY = { teamId: 'team', day: '2026-11-20', operation: 'getOrder', calls: 7 };

/** Fills an empty store with rows in every table that check reads, and closes it. */
export async function fill(store: OpenedStore): Promise<void> {
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.tenants.replaceKeys('team', { apiId: 'id', secretHash: new Uint8Array(32).fill(1) }, NOW, entry());
  await store.usage.addUsage([DAY], [{ ...DAY, month: '2026-11', apiId: 'id', name: 'default', usedAt: NOW }]);
  const pims = new Pims(store.pims(tenant));
  const context = { ...write(), defaultStage: 'worksheet' } as const;
  accepted(await pims.addField({ recordType: 'orders', name: 'COLOUR', type: 'text' }));
  await pims.importAll('inventory', [
    { PART_CODE: 'P', QTY_ONHAND: '10' },
    { PART_CODE: 'S', QTY_ONHAND: '0', SERIALIZED: 'Y' },
  ]);
  const received = { PART_CODE: 'S', QUANTITY: '2', SERIAL_NUMBERS: 'S1,S2' };
  await operations.writeRecord(pims.port, 'receiveStock', received, context);
  await pims.createCustomer({ CUSTOMER_NAME: 'Ann' });
  const order = await pims.createOrder({ ORDER_TYPE: 'sales_order' }, idempotency('key'));
  for (const PART_CODE of ['P', 'S'])
    accepted(await pims.addLine(order, { PART_CODE, QUANTITY: '2', UNIT_PRICE: '2.5' }));
  const invoice = { quantities: new Map([['2', '1']]), serials: new Map([['2', ['S1']]]), tracking: [] };
  accepted(await pims.advanceOrder(order, { invoice }));
  const options = { requestLogDays: 30, requestLogMb: 9, requestLogRate: 9, clock: new TestClock() };
  const log = new RequestLog(store.requests, options);
  log.record(LOGGED_CALL);
  await log.settled();
  await store.close();
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
}
/** Returns SQL for another value of a column. */
const otherValue = ({ name, type }: Column): string =>
  type === 'TEXT' ? `"${name}" || '2'` : type === 'BLOB' ? 'zeroblob(32)' : `coalesce("${name}", 0) + 1000`;

/** Faults of the rows of a table. */
export const DAMAGES: Record<
  string,
  (table: string, columns: readonly Column[], names: ReadonlySet<string>) => string
> = {
  removed: (table) => `DELETE FROM "${table}"`,
  changed: (table, columns, names) => {
    const others = columns.filter(({ name }) => !names.has(name) || columns.length === names.size);
    return `UPDATE "${table}" SET ${others.map((column) => `"${column.name}" = ${otherValue(column)}`).join()}`;
  },
  doubled: (table, columns, names) => {
    const values = columns.map((column) => (names.has(column.name) ? otherValue(column) : `"${column.name}"`));
    return `INSERT INTO "${table}" SELECT ${values.join()} FROM "${table}"`;
  },
};

function openRaw(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  db.exec('PRAGMA ignore_check_constraints=ON');
  return db;
}

const rowsOf = <Row>(db: DatabaseSync, sql: string): Row[] => db.prepare(sql).all() as Row[];

/** Lists the tables of a file, without those of its search indexes. */
function tablesOf(file: string): string[] {
  using db = openRaw(file);
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
  return valuesOf(rowsOf<{ name: string }>(db, sql), 'name').filter((name) => !name.includes('_SEARCH'));
}

export function columnsOf(file: string, table: string): Column[] {
  using db = openRaw(file);
  return rowsOf<Column>(db, `PRAGMA table_info("${table}")`);
}

/** Returns all rows of a table as a text, with all of its columns or with these. */
export function readRows(file: string, table: string, columns?: Iterable<string>): string {
  using db = openRaw(file);
  const names = columns ? [...columns].map((name) => `"${name}"`).join() : '*';
  return JSON.stringify(rowsOf(db, `SELECT ${names} FROM "${table}" ORDER BY 1, 2`));
}

/** Whether rows of a table say whose they are. */
export const namesTenant = (file: string, table: string): boolean =>
  table !== 'OWNER' && columnsOf(file, table).some(({ name }) => /^TEAM_ID$|^WEBHOOK_ID$/.test(name));

/** Inserts a row of the tenant into a table. Other texts are x, so that the rows of several tables refer to each other. */
export function insertRow(file: string, table: string): void {
  using db = openRaw(file);
  const valueOf = ({ name, type }: Column) =>
    name === 'TEAM_ID' || (name === 'TYPE' && table === 'WEBHOOK_DELIVERIES')
      ? "'team'"
      : type === 'TEXT'
        ? "'x'"
        : type === 'BLOB'
          ? "x'00'"
          : 9;
  db.exec(`INSERT OR IGNORE INTO "${table}" VALUES (${columnsOf(file, table).map(valueOf).join()})`);
}

/** Damages a table. Returns how many rows differ. */
export function damage(file: string, table: string, kind: string): number {
  using db = openRaw(file);
  for (const { name } of rowsOf<{ name: string }>(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'"))
    db.exec(`DROP TRIGGER "${name}"`);
  const columns = rowsOf<Column>(db, `PRAGMA table_info("${table}")`);
  const names = new Set(columns.filter(({ pk }) => pk > 0).map(({ name }) => name));
  for (const { name, unique } of rowsOf<{ name: string; unique: number }>(db, `PRAGMA index_list("${table}")`))
    if (unique === 1)
      for (const column of rowsOf<{ name: string }>(db, `PRAGMA index_info("${name}")`)) names.add(column.name);
  return Number(db.prepare(DAMAGES[kind]!(table, columns, names)).run().changes);
}

/** Lists the tables of a store, each with its file. */
export const listAll = (folder: string): [file: string, table: string][] =>
  globSync('**/*.db', { cwd: folder }).flatMap((file) =>
    tablesOf(join(folder, file)).map((table): [string, string] => [file, table]),
  );
