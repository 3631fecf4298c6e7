/** Tests that a move and the removal of a tenant handle every table that a PostgreSQL store has, read from its schema. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listTables } from '../../src/store/move/tables.ts';
import { openMove } from '../../src/store/postgres/move-store.ts';
import { passing } from '../kit/clock.ts';
import { runStatement } from '../kit/postgres.ts';
import { openDatabase, urlOf } from './postgres-database.ts';
import { fill } from './stored-tables.ts';

const IDENTITY = 'each store has its own';
const MADE = 'made from the other columns';
const COUNTED = 'kept by triggers on the records';
/** The tables and columns that a move leaves out, and why. */
const NOT_MOVED: Record<string, string> = {
  'AUDIT.ONCE': 'a write that is repeated across a move may be recorded twice',
  'CUSTOMER.folded': MADE,
  'CUSTOMER.search': MADE,
  CUSTOMER_MODIFIED: COUNTED,
  'CUSTOM_FIELDS.ID': IDENTITY,
  INSTALLATION: IDENTITY,
  'INVENTORY.folded': MADE,
  'INVENTORY.search': MADE,
  INVENTORY_MODIFIED: COUNTED,
  MOVE: 'says that a move is unfinished',
  'ORDERS.folded': MADE,
  'ORDERS.search': MADE,
  ORDERS_MODIFIED: COUNTED,
  'ORDER_LINEITEMS.folded': MADE,
  REQUEST_BYTES: 'counted again from the blocks',
  SCHEMA: IDENTITY,
  SESSIONS: 'users sign in again',
  'TENANTS.SCHEMA_VERSION': IDENTITY,
  'TENANTS.STORE_ID': IDENTITY,
  USAGE_NODES: 'the nodes that add counts, of which none runs',
  'WEBHOOKS.DELIVERIES': 'the deliveries are not moved, and begin at 1 again',
  WEBHOOK_DELIVERIES: 'the webhooks come with their positions',
  WEBHOOK_SENDER: 'the new store has no sender yet',
};

interface Column {
  readonly place: string;
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

/** Lists the columns of the tables in the control schema and in those of the tenants. */
const LIST = `SELECT table_schema place, table_name "table", column_name name, data_type type
  FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
  WHERE table_type = 'BASE TABLE' AND (table_schema = 'storeroom' OR table_schema LIKE 'pims%')
  ORDER BY table_schema, table_name, ordinal_position`;

test('a move has every table of a store, and a removed tenant leaves no row in any table that names it', async () => {
  const url = await urlOf('tables');
  await fill(await openDatabase('tables'));
  const columns = (await runStatement(url, LIST)) as unknown as Column[];
  const move = await openMove(url, 'the database', passing, true);
  const found = await Array.fromAsync(listTables(move));
  await move.close();
  const moved = new Map(found.map((table) => [table.name, new Set(table.columns)]));
  const left = columns.flatMap(({ table, name }) =>
    !moved.has(table) ? table : moved.get(table)!.has(name) ? [] : `${table}.${name}`,
  );
  assert.deepEqual([...new Set(left)].toSorted(), Object.keys(NOT_MOVED).toSorted());

  const ofTenant = Map.groupBy(columns, ({ place, table }) => `"${place}"."${table}"`);
  for (const [table, own] of ofTenant)
    if (!table.startsWith('"storeroom"') || !own.some(({ name }) => /^TEAM_ID$|^WEBHOOK_ID$/.test(name)))
      ofTenant.delete(table);
  const valueOf = ({ table, name, type }: Column): string =>
    name === 'TEAM_ID' || (name === 'TYPE' && table === 'WEBHOOK_DELIVERIES')
      ? "'team'"
      : ({ text: "'x'", bytea: "'x'", boolean: 'true' }[type] ?? '9');
  // Neither keys nor triggers are in the way of such rows.
  const inserts = [...ofTenant].map(
    ([table, own]) => `INSERT INTO ${table} VALUES (${own.map(valueOf).join()}) ON CONFLICT DO NOTHING`,
  );
  await runStatement(url, ['SET session_replication_role = replica', ...inserts].join('; '));
  const listLeft = async (): Promise<string[]> => {
    const counts = [...ofTenant.keys()].map(
      (table) => `SELECT '${table}' t FROM ${table} r WHERE r::text LIKE '%team%'`,
    );
    return (await runStatement(url, counts.join(' UNION '))).map((row) => String(row['t']));
  };
  assert.deepEqual((await listLeft()).toSorted(), [...ofTenant.keys()].toSorted());
  const store = await openDatabase('tables');
  await store.tenants.deleteTenant((await store.tenants.findTenant('team'))!);
  await store.close();
  assert.deepEqual(await listLeft(), []);
  assert.deepEqual(await runStatement(url, "SELECT FROM pg_namespace WHERE nspname LIKE 'pims%'"), []);
});
