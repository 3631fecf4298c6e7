/**
 * The tables of a store as a move sees them: which there are, their columns and keys, and the port by which rows leave one store and come into another
 * as they are. One list and one SQL for reading hold for every SQL store. Never runs anything.
 */
import { Refusal } from '../../errors.ts';
import { RECORD_TYPES, type FieldDictionary, type RecordType } from '../../pims/fields.ts';
import type { PimsStore } from '../../pims/port.ts';
import type { Tenant, TenantStore } from '../../tenant/port.ts';

/** The values of a row, or of its key, as they are kept. */
export type TableRow = readonly (string | number | Uint8Array | null)[];

export interface Table {
  /** Whose it is, and the name of that tenant's inventory system; undefined for what is beside the tenants. */
  readonly tenant: Tenant | undefined;
  readonly name: string;
  /** Those of the key come first, except where the tenant's dictionary gives the order. */
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** Of a table of records. */
  readonly recordType?: RecordType;
  readonly dictionary?: FieldDictionary;
  /**
   * How its rows come into another store: `rows`, those behind the last key that is there; `whole`, all of them over those that are there; `made`, by the
   * ports, which make what belongs to them.
   */
  readonly way: 'rows' | 'whole' | 'made';
}

/** Port: a store opened for a move out of it or into it. */
export interface TableStore {
  readonly tenants: TenantStore;
  pims(tenant: Tenant): PimsStore;
  /** Refuses when anybody else uses the store, and keeps services away as far as the store can. */
  takeAlone(): Promise<void>;
  /** The source of the move into this store that is not finished, if there is one. */
  unfinishedMove(): Promise<string | undefined>;
  beginMove(source: string): Promise<void>;
  /** Lets the store measure what is there now, and be opened by everybody. */
  finishMove(): Promise<void>;
  countRows(table: Table): Promise<number>;
  /** The key of the last row. */
  lastKey(table: Table): Promise<TableRow | undefined>;
  /** Rows in the order of their keys, from the first one or behind a key. */
  loadRows(table: Table, after: TableRow | undefined, limit: number): Promise<TableRow[]>;
  /** Writes all of them, durably, or none. */
  insertRows(table: Table, rows: readonly TableRow[]): Promise<void>;
  close(): Promise<void>;
}

export const refuseUnfinished = (place: string): Refusal =>
  new Refusal(
    'COMMAND_REFUSED',
    `A move into ${place} is unfinished. Run the same \`storeroom move\` again; it goes on where it was.`,
  );

const control = (name: string, keys: string, others: string, way: Table['way'] = 'rows'): Table =>
  buildTable(undefined, name, keys, others, way);

function buildTable(tenant: Tenant | undefined, name: string, keys: string, others: string, way: Table['way']): Table {
  const key = keys.split(' ');
  return { tenant, name, key, columns: [...key, ...others.split(' ')], way };
}

/** What is beside the tenants. STORE_ID is missing: a tenant's inventory system is named by the store it is in. */
const CONTROL_TABLES: readonly Table[] = [
  control('TENANTS', 'TEAM_ID', 'NAME CREATED_AT DEFAULT_STAGE STRICT MONTH_QUOTA CALLS_PER_SECOND', 'made'),
  control('API_KEYS', 'API_ID', 'TEAM_ID SECRET_HASH ISSUED_AT ENDS_AT ISSUED_BY'),
  // Sessions stay behind: people sign in anew.
  control(
    'USERS',
    'TEAM_ID EMAIL',
    'ROLE CREATED_AT PASSWORD_HASH PASSWORD_SET_AT SEALED_SECRET LAST_STEP FAILURES NEXT_TRY_AT LINK_HASH LINK_ENDS_AT',
  ),
  control('RECOVERY_CODES', 'TEAM_ID EMAIL NUMBER', 'CODE_HASH'),
  control('AUDIT', 'TEAM_ID NUMBER', 'AT ACTOR ACTION TARGET CLIENT DETAIL HASH'),
  control('AUDIT_HEADS', 'TEAM_ID', 'NUMBER HASH'),
  control('USAGE', 'TEAM_ID DAY OPERATION', 'CALLS'),
  control('USAGE_MONTHS', 'TEAM_ID MONTH', 'CALLS'),
  control('REFUSALS', 'TEAM_ID DAY OPERATION', 'CALLS'),
  control('KEY_USES', 'TEAM_ID API_ID', 'USED_AT CLIENT USED_IN_URL_AT'),
  control('REQUESTS', 'TEAM_ID BLOCK_ID', 'FIRST_AT BOOT FIRST_NUMBER LAST_NUMBER LINES'),
];

/** Every table of a store. Those of records have their columns in the order of the tenant's dictionaries, custom fields and all. */
export async function* listTables(store: TableStore): AsyncGenerator<Table> {
  yield* CONTROL_TABLES;
  for (const tenant of await store.tenants.listTenants()) {
    const dictionaries = await store.pims(tenant).dictionaries();
    yield buildTable(tenant, 'CUSTOM_FIELDS', 'RECORD_TYPE NAME', 'TYPE', 'made');
    yield buildTable(tenant, 'COUNTERS', 'NAME', 'NEXT', 'whole');
    yield buildTable(tenant, 'IDEMPOTENCY', 'OPERATION IDEMPOTENCY_KEY', 'BODY_HASH ANSWER CREATED_AT', 'rows');
    for (const recordType of ['customers', 'inventory', 'orders', 'lines'] as const) {
      const dictionary = dictionaries[recordType];
      const key = recordType === 'lines' ? ['ORDER_NUMBER', 'LINE_NUMBER'] : ['SORT_KEY'];
      const columns = recordType === 'lines' ? [...dictionary.keys()] : ['SORT_KEY', ...dictionary.keys()];
      yield { tenant, name: RECORD_TYPES[recordType].table, key, columns, recordType, dictionary, way: 'rows' };
    }
  }
}

export const keyOf = ({ columns, key }: Table, row: TableRow): TableRow =>
  key.map((name) => row[columns.indexOf(name)]!);

/** A store may have counters of its own besides these. */
const OWN_COUNTERS = `"NAME" IN ('orders', 'customers')`;
const quote = (name: string): string => `"${name}"`;

/** The SELECTs of a table, which the statements name `from`: both stores order text by its bytes. */
export function buildReads({ name, columns, key }: Table, from: string) {
  const rows = name === 'COUNTERS' ? OWN_COUNTERS : 'TRUE';
  const read = columns.map((column) =>
    name === 'TENANTS' && column === 'STRICT' ? 'CAST("STRICT" AS INTEGER)' : quote(column),
  );
  const order = (direction: 'ASC' | 'DESC'): string => key.map((column) => `"${column}" ${direction}`).join(', ');
  const page = (where: string): string =>
    `SELECT ${read.join(', ')} FROM ${from} WHERE ${where} ORDER BY ${order('ASC')} LIMIT ?`;
  return {
    count: `SELECT count(*) FROM ${from} WHERE ${rows}`,
    last: `SELECT ${key.map(quote).join(', ')} FROM ${from} WHERE ${rows} ORDER BY ${order('DESC')} LIMIT 1`,
    first: page(rows),
    next: page(`${rows} AND (${key.map(quote).join(', ')}) > (${key.map(() => '?').join(', ')})`),
  };
}

/** What makes an INSERT into a table that is written whole go over the rows that are there. */
export const buildConflict = ({ columns, key, way }: Table): string => {
  const others = columns.filter((name) => !key.includes(name));
  return way === 'whole'
    ? ` ON CONFLICT (${key.map(quote).join(', ')}) DO UPDATE SET ${others.map((name) => `"${name}" = excluded."${name}"`).join(', ')}`
    : '';
};
