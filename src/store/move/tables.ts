/** The tables that a move copies, the SQL that reads and fills them, and the port of a store that takes part. */
import { refuseCommand, type Refusal } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { RECORD_TYPES, type FieldDictionary, type RecordType } from '../../pims/rules/fields.ts';
import type { Tenant, TenantStore } from '../../tenant/tenant-port.ts';
import type { Values } from '../../pims/rules/values.ts';
import { listColumns } from '../../pims/writes/kinds-of-loads.ts';
import { buildInsert, buildRecordInsert, LEDGER_ROW, listNames, VERSION, type ScriptDialect } from '../pims/row-sql.ts';
import { buildLineInsert } from '../pims/line-sql.ts';
import { statement, type Bound, type Statement } from '../sql/writing.ts';

/** The limits of a store's queries during a move, which runs alone and makes few queries. */
export const QUERIES = { queryBudgetMs: 60_000, queriesRunningMax: 1, queriesWaitingMax: 1 };

/** The stored values of a row, or of its key. */
export type TableRow = readonly Bound[];

export interface Table {
  readonly store: MoveStore;
  /** The tenant whose inventory system has the table; undefined for the control tables. */
  readonly tenant: Tenant | undefined;
  readonly name: string;
  /** Columns of the key are first, unless the tenant's dictionary defines the order. */
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** The record type, for a table of records. */
  readonly recordType?: RecordType;
  readonly dictionary?: FieldDictionary;
  /** `insert` copies rows, `overwrite` also over those of a new store, and with `create` the ports create the rows. */
  readonly copyMode: 'insert' | 'overwrite' | 'create';
}

/** The port of a store that is the source or the target of a move. */
export interface MoveStore {
  readonly tenants: TenantStore;
  pims(tenant: Tenant): PimsStore;
  /** Locks the store as far as possible. Throws COMMAND_REFUSED while another process uses it. */
  takeAlone(): Promise<void>;
  /** Returns whether a move into this store is unfinished. */
  isUnfinished(): Promise<boolean>;
  beginMove(): Promise<void>;
  /** Updates the statistics of PostgreSQL, and lets services open the store. */
  finishMove(): Promise<void>;
  /** Runs a SELECT on a table. `build` receives the store's name for the table. */
  readTable<R extends TableRow>(table: Table, build: (from: string) => string, values: TableRow): Promise<R[]>;
  /** Deletes all rows of a table outside the inventory systems. */
  clearTable(table: Table): Promise<void>;
  /** Inserts all rows, durably, or none. */
  insertRows(table: Table, rows: readonly TableRow[]): Promise<void>;
  close(): Promise<void>;
}

export const refuseUnfinished = (place: string): Refusal =>
  refuseCommand(
    `A move into ${place} is unfinished. Run the same \`storeroom move\` again, which copies everything again.`,
  );

/** Makes the function that describes tables of a store, or of a tenant. Columns are separated by spaces. */
const describeTables =
  (store: MoveStore, tenant?: Tenant) =>
  (name: string, keys: string, others: string, copyMode: Table['copyMode']): Table => {
    const key = keys.split(' ');
    return { store, tenant, name, key, columns: [...key, ...(others ? others.split(' ') : [])], copyMode };
  };

const USER_COLUMNS =
  'ROLE CREATED_AT PASSWORD_HASH PASSWORD_SET_AT SEALED_SECRET LAST_STEP FAILURES NEXT_TRY_AT LINK_HASH LINK_ENDS_AT';

const WEBHOOK_COLUMNS =
  'TEAM_ID URL TYPES CREATED_AT SEALED_SECRET OLD_SECRET OLD_SECRET_ENDS_AT POSITION STATE REASON FAILURES NEXT_TRY_AT ' +
  'DELIVERED_AT REVISION';

/** Lists the tables to move outside the inventory systems. STORE_ID is not moved: each store assigns another. */
export function listControlTables(store: MoveStore): readonly Table[] {
  const buildTable = describeTables(store);
  return [
    buildTable(
      'TENANTS',
      'TEAM_ID',
      'NAME CREATED_AT DEFAULT_STAGE STRICT MONTH_QUOTA OWN_QUOTA CALLS_PER_SECOND',
      'create',
    ),
    buildTable('SECRETS', 'NAME', 'SECRET', 'overwrite'),
    buildTable('API_KEYS', 'API_ID', 'TEAM_ID SECRET_HASH ISSUED_AT ENDS_AT ISSUED_BY NAME SCOPE', 'insert'),
    // Sessions are not copied, so users sign in again.
    buildTable('USERS', 'TEAM_ID EMAIL', USER_COLUMNS, 'insert'),
    buildTable('RECOVERY_CODES', 'TEAM_ID EMAIL NUMBER', 'CODE_HASH', 'insert'),
    buildTable('UNKNOWN_NAMES', 'SLOT', 'NAME_HASH FAILURES NEXT_TRY_AT', 'overwrite'),
    buildTable('AUDIT', 'TEAM_ID NUMBER', 'AT ACTOR ACTION TARGET CLIENT DETAIL HASH', 'insert'),
    buildTable('AUDIT_HEADS', 'TEAM_ID', 'NUMBER HASH', 'insert'),
    // Deliveries are not copied. The new store has no sender yet.
    buildTable('WEBHOOKS', 'ID', WEBHOOK_COLUMNS, 'insert'),
    buildTable('USAGE', 'TEAM_ID DAY OPERATION', 'CALLS', 'insert'),
    buildTable('USAGE_MONTHS', 'TEAM_ID MONTH', 'CALLS', 'insert'),
    buildTable('KEY_USAGE', 'TEAM_ID MONTH API_ID', 'NAME CALLS USED_AT', 'insert'),
    buildTable('REFUSALS', 'TEAM_ID DAY OPERATION', 'CALLS', 'insert'),
    buildTable('KEY_USES', 'TEAM_ID API_ID', 'USED_AT CLIENT USED_IN_URL_AT', 'insert'),
    buildTable('REQUESTS', 'TEAM_ID BLOCK_ID', 'FIRST_AT BOOT FIRST_NUMBER LAST_NUMBER LINES', 'insert'),
  ];
}

/** Lists the tables to move. Tables of records have the columns of the tenant's dictionaries, in their order. */
export async function* listTables(store: MoveStore): AsyncGenerator<Table> {
  yield* listControlTables(store);
  for (const tenant of await store.tenants.listTenants()) {
    const dictionaries = await store.pims(tenant).dictionaries();
    const buildTable = describeTables(store, tenant);
    yield buildTable('CUSTOM_FIELDS', 'RECORD_TYPE NAME', 'TYPE', 'create');
    yield buildTable('COUNTERS', 'NAME', 'NEXT', 'overwrite');
    yield buildTable('CHANGES', 'SEQ', 'BEFORE AT CHANGED', 'insert');
    yield buildTable('MOVEMENTS', 'PART_CODE NUMBER', LEDGER_ROW.slice(1).join(' '), 'insert');
    yield buildTable('SERIALS', 'PART_CODE SERIAL', 'ORDER_NUMBER', 'insert');
    yield buildTable('LINE_SERIALS', 'SERIAL LINE_KEY', '', 'insert');
    yield buildTable('IDEMPOTENCY', 'OPERATION IDEMPOTENCY_KEY', 'BODY_HASH ANSWER CREATED_AT', 'insert');
    for (const recordType of ['customers', 'inventory', 'orders', 'lines'] as const) {
      const dictionary = dictionaries[recordType];
      const columns = recordType === 'lines' ? dictionary.keys() : [VERSION, ...listColumns(recordType, dictionary)];
      yield {
        store,
        tenant,
        name: RECORD_TYPES[recordType].table,
        key: ['SORT_KEY'],
        columns: ['SORT_KEY', ...columns],
        recordType,
        dictionary,
        copyMode: 'insert',
      };
    }
  }
}

export const keyOf = ({ columns, key }: Table, row: TableRow): TableRow =>
  key.map((name) => row[columns.indexOf(name)]!);

/** Returns the condition of the rows that every store has; a store may have more counters. */
const rowsOf = ({ name }: Table) => (name === 'COUNTERS' ? `"NAME" IN ('orders', 'customers')` : 'TRUE');

export async function countRows(table: Table): Promise<number> {
  const buildCount = (from: string) => `SELECT count(*) FROM ${from} WHERE ${rowsOf(table)}`;
  return (await table.store.readTable<[number]>(table, buildCount, []))[0]![0];
}

/** Loads rows in the order of their keys, from the first one or after a key. Both stores order text by its bytes. */
export function loadRows(table: Table, after: TableRow = [], limit: number): Promise<TableRow[]> {
  const key = listNames(table.key);
  const beyond = after.length > 0 ? ` AND (${key}) > (${after.map(() => '?').join(', ')})` : '';
  const buildSelect = (from: string) =>
    `SELECT ${listNames(table.columns)} FROM ${from} WHERE ${rowsOf(table)}${beyond} ORDER BY ${key} LIMIT ?`;
  return table.store.readTable(table, buildSelect, [...after, limit]);
}

/** Builds the statements that insert a row into a table, and what is derived from a record or a line. */
export function buildInserter(
  table: Table,
  name: string,
  dialect: ScriptDialect,
): (row: TableRow) => readonly Statement[] {
  const { tenant, columns, key, recordType, dictionary, copyMode } = table;
  if (recordType && dictionary) {
    const toValues = (row: TableRow): Values =>
      Object.fromEntries(columns.map((column, at) => [column, String(row[at])]));
    if (recordType === 'lines') {
      const insertLine = buildLineInsert(dictionary, dialect);
      return (row) => [insertLine(toValues(row))];
    }
    const insertRecord = buildRecordInsert(recordType, dictionary, dialect);
    return (row) => insertRecord(row[0] as string, toValues(row), row[1] as string);
  }
  const insert = buildInsert(name, columns, key);
  if (tenant && copyMode === 'insert') return (row) => [insert(row)];
  const set = columns.filter((column) => !key.includes(column)).map((column) => `"${column}" = excluded."${column}"`);
  const onConflict = copyMode === 'overwrite' ? ` ON CONFLICT (${listNames(key)}) DO UPDATE SET ${set.join(', ')}` : '';
  // Without `change`, the PostgreSQL store does not merge these statements; merging needs the types of the columns.
  const sql = insert([]).sql + onConflict;
  return (row) => [statement(sql, ...row)];
}
