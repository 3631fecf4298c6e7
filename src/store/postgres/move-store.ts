/** PostgreSQL opened for a move. A row of the control schema says that a move into the database is unfinished. */
import type { Clock } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Tenant, TenantStore } from '../../tenant/tenant-port.ts';
import { buildConflict, QUERIES, type Table, type TableRow, type MoveStore } from '../move/tables.ts';
import type { Row } from '../writing.ts';
import { ConnectionLost, sqlStateOf, type Connection, type StatementValues } from './connection/connection.ts';
import { CONTROL } from './migrate.ts';
import { PostgresStore, READ_MOVE } from './store.ts';
import { foldedValues, searchIndex } from './reads/pims-sql.ts';

const NAME = 'storeroom move';
const MOVE_LOCK = 7_301_127;
/** The connections of a killed move stay for a moment. */
const ALONE_WAIT_MS = 5000;
/** So do those of a command that has just ended. */
const OTHERS_WAIT_MS = 1000;
const OTHERS_RETRY_MS = 100;
const LOCK_NOT_AVAILABLE = '55P03';
/** Names of other sessions that write. */
const OTHERS = `SELECT application_name FROM pg_stat_activity
  WHERE datname = current_database() AND application_name IN ('storeroom serve', 'storeroom command')`;
/** Columns that are not text; a tenant's own field may have any name. */
const TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SECRETS: { SECRET: 'bytea' },
  API_KEYS: { SECRET_HASH: 'bytea' },
  USERS: { SEALED_SECRET: 'bytea', LAST_STEP: 'bigint', FAILURES: 'integer', LINK_HASH: 'bytea' },
  RECOVERY_CODES: { NUMBER: 'integer', CODE_HASH: 'bytea' },
  AUDIT: { NUMBER: 'bigint' },
  AUDIT_HEADS: { NUMBER: 'bigint' },
  USAGE: { CALLS: 'bigint' },
  USAGE_MONTHS: { CALLS: 'bigint' },
  KEY_USAGE: { CALLS: 'bigint' },
  REFUSALS: { CALLS: 'bigint' },
  REQUESTS: { FIRST_NUMBER: 'bigint', LAST_NUMBER: 'bigint', LINES: 'bytea' },
  COUNTERS: { NEXT: 'bigint' },
  ORDER_LINEITEMS: { LINE_NUMBER: 'integer' },
};

export class PostgresMoveStore implements MoveStore {
  readonly #name: string;
  readonly #store: PostgresStore;
  readonly #connection: Connection;
  readonly #clock: Clock;

  private constructor(name: string, store: PostgresStore, connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#name = name;
    this.#store = store;
    this.#connection = connection;
  }

  /** Opens a database. Messages call it `name`. */
  static async open(url: string, name: string, clock: Clock): Promise<PostgresMoveStore> {
    const options = { ...QUERIES, url, connections: 1, name: NAME, movedAs: name, clock };
    const store = await PostgresStore.open(options);
    return new PostgresMoveStore(name, store, await store.openOwn(), clock);
  }

  get tenants(): TenantStore {
    return this.#store.tenants;
  }

  pims(tenant: Tenant): PimsStore {
    return this.#store.pims(tenant);
  }

  /** The lock of the session keeps other moves away. A service is noticed, and cannot be kept away. */
  async takeAlone(): Promise<void> {
    try {
      await this.#ask(`SELECT set_config('lock_timeout', '${ALONE_WAIT_MS}', false), pg_advisory_lock(${MOVE_LOCK})`);
    } catch (fault) {
      if (sqlStateOf(fault) !== LOCK_NOT_AVAILABLE) throw fault;
      throw refuseCommand(`Another move into or out of ${this.#name} is running.`);
    }
    const giveUpAt = this.#clock.elapsed() + OTHERS_WAIT_MS;
    let other = await this.#findOther();
    while (other !== undefined && this.#clock.elapsed() < giveUpAt) {
      await this.#clock.sleep(OTHERS_RETRY_MS);
      other = await this.#findOther();
    }
    if (other !== undefined)
      throw refuseCommand(
        `A service or a command is running on ${this.#name} (\`${other}\`); stop it, and let nobody write meanwhile.`,
      );
  }

  async unfinishedMove(): Promise<string | undefined> {
    return (await this.#ask<[string]>(READ_MOVE))[0]?.[0];
  }

  async beginMove(source: string): Promise<void> {
    await this.#ask(`INSERT INTO ${CONTROL}."MOVE" VALUES (?)`, [source]);
  }

  async finishMove(): Promise<void> {
    await this.#ask('ANALYZE');
    await this.#ask(`DELETE FROM ${CONTROL}."MOVE"`);
  }

  read<R extends TableRow>(table: Table, build: (from: string) => string, values: TableRow): Promise<R[]> {
    return this.#ask<R>(build(tableOf(table)), values);
  }

  /** One statement with an array of text for each column. */
  async insertRows(table: Table, rows: readonly TableRow[]): Promise<void> {
    const { columns, values } = toColumns(table, rows);
    const read = columns.map((name) => {
      const type = name === 'folded' ? 'jsonb' : TYPES[table.name]?.[name];
      return type ? `"${name}"::${type}` : `"${name}"`;
    });
    const names = columns.map((name) => `"${name}"`).join(', ');
    const from = `unnest(${columns.map(() => '?::text[]').join(', ')}) AS r(${names})`;
    const insert = `INSERT INTO ${tableOf(table)} (${names})`;
    const sql = `${insert} SELECT ${read.join(', ')} FROM ${from}${buildConflict(table)}`;
    try {
      await this.#ask(sql, values);
    } catch (fault) {
      if (sqlStateOf(fault) === undefined) throw fault;
      const first = `${table.key.join(' and ')} ${rows[0]!.slice(0, table.key.length).join(' and ')}`;
      const which = `${table.name}${table.tenant ? ` of ${table.tenant.teamId}` : ''}, from ${first} on`;
      throw refuseCommand(`${this.#name} does not take the rows of ${which}: ${(fault as Error).message}`);
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
    await this.#store.close();
  }

  async #findOther(): Promise<string | undefined> {
    return (await this.#ask<[string]>(OTHERS))[0]?.[0];
  }

  async #ask<R extends Row>(sql: string, values: StatementValues | TableRow = []): Promise<R[]> {
    try {
      return await this.#connection.queryOnce<R>(sql, values);
    } catch (fault) {
      if (!(fault instanceof ConnectionLost)) throw fault;
      throw new Refusal('STORE_UNAVAILABLE', `${fault.message}. Run the same command again; it goes on where it was.`);
    }
  }
}

const tableOf = ({ tenant, name }: Table): string => `${tenant ? `"${tenant.storeId}"` : CONTROL}."${name}"`;

/** The values by column; for records also the columns that are searched. */
function toColumns(
  { columns, recordType, dictionary }: Table,
  rows: readonly TableRow[],
): { columns: readonly string[]; values: (string | null)[][] } {
  const values = columns.map((_, column) => rows.map((row) => formatText(row[column]!)));
  if (!recordType || !dictionary || recordType === 'lines') return { columns, values };
  const fields = [...dictionary.values()].filter(({ type, searched }) => searched || type === 'text');
  const texts = fields.map(({ name }) => name);
  const places = texts.map((name) => columns.indexOf(name));
  const records = rows.map((row): Values =>
    Object.fromEntries(texts.map((name, index) => [name, row[places[index]!] as string])),
  );
  const search = records.map((record) => searchIndex(dictionary, record));
  const folded = records.map((record) => foldedValues(dictionary, record));
  return { columns: ['search', 'folded', ...columns], values: [search, folded, ...values] };
}

const formatText = (value: TableRow[number]): string | null =>
  value === null ? null : typeof value === 'object' ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
