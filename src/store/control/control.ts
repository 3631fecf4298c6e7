/**
 * Begin here: the control database as the shared code uses it. Its tables are the same in every SQL store. The column
 * of a property such as `createdAt` is "CREATED_AT".
 */
import type { Session, User, UserName } from '../../account/account-port.ts';
import { orThrow, type Outcome } from '../../errors.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { yieldRow, statement, type Bound, type Row, type Statement, type Writing } from '../sql/writing.ts';

export interface ReadableTables {
  /** The prefix of a table name: empty, or a schema and a dot. */
  readonly schema: '' | `${string}.`;
  /** Runs one statement that changes nothing. */
  readRows<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]>;
}

export interface ControlDatabase extends ReadableTables {
  /**
   * Runs a writing in one transaction, which a refusal undoes, and resolves when it is on disk. Calls `work` again when
   * the transaction is retried.
   */
  transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>>;
}

/** Runs a writing in one transaction and throws its refusal. */
export const commitWriting = <T>(db: ControlDatabase, work: () => Writing<Outcome<T>>): Promise<T> =>
  db.transaction(work).then(orThrow);

/** Runs one statement in a transaction. */
export const commitOne = (db: ControlDatabase, change: Statement): Promise<void> =>
  commitWriting(db, function* () {
    yield change;
  });

/** Runs one statement in a transaction and returns whether it changed a row. */
export const commitRow = (db: ControlDatabase, change: Statement): Promise<boolean> =>
  commitWriting(db, () => changesRow(change));

/** Runs a statement and returns whether it changed a row. */
export function* changesRow({ sql, values }: Statement): Writing<boolean> {
  return (yield* yieldRow(`${sql} RETURNING 1`, ...values)) !== undefined;
}

/** Loads random bytes of the installation. All nodes have the same ones, even after a restart. */
export async function loadCursorKey(db: ReadableTables): Promise<Uint8Array> {
  const [found] = await db.readRows<[Uint8Array]>(
    `SELECT "SECRET" FROM ${db.schema}"SECRETS" WHERE "NAME" = 'cursors'`,
  );
  return found![0];
}

/** Returns whether a store can hold the text. A text that it cannot hold identifies no record. */
export const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

const columnOf = (property: string) => `"${property.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}"`;

/** Lists the columns of these properties, prefixed with the alias of their table. */
export const listColumns = (properties: readonly string[], alias: string): string =>
  properties.map((property) => `${alias}.${columnOf(property)}`).join(', ');

/** Converts a row to a record: `toRecord(['teamId', 'at'], ['acme', '2026'])` is `{ teamId: 'acme', at: '2026' }`. */
export const toRecord = <T>(properties: readonly (keyof T)[], values: Row): T =>
  Object.fromEntries(properties.map((property, index) => [property, values[index]])) as T;

/** Loads the records for which a condition holds. ORDER BY and LIMIT can follow the condition. */
export async function loadRecords<T>(
  db: ReadableTables,
  table: string,
  properties: readonly (keyof T & string)[],
  where: string,
  ...values: Bound[]
): Promise<T[]> {
  const sql = `SELECT ${listColumns(properties, 't')} FROM ${db.schema}"${table}" t WHERE ${where}`;
  const found = await db.readRows(sql, ...values);
  return found.map((one) => toRecord<T>(properties, one));
}

type BoundRecord = Readonly<Record<string, Bound>>;

export function insertRow(table: string, record: BoundRecord, onConflict = ''): Statement {
  const columns = Object.keys(record).map(columnOf).join(', ');
  const places = Object.keys(record).fill('?').join(', ');
  return statement(`INSERT INTO ${table} (${columns}) VALUES (${places})${onConflict}`, ...Object.values(record));
}

/** Builds an update of the rows that a condition holds for, with all values of the record. */
export function updateRows(table: string, record: BoundRecord, where: string, ...values: Bound[]): Statement {
  const set = Object.keys(record).map((property) => `${columnOf(property)} = ?`);
  return statement(`UPDATE ${table} SET ${set.join(', ')} WHERE ${where}`, ...Object.values(record), ...values);
}

export type TenantRow = [
  string,
  string,
  string,
  string,
  Tenant['defaultStage'],
  number,
  number | null,
  number | null,
  number | null,
];

/** The columns of a TenantRow, for a statement that calls TENANTS `t`. */
export const TENANT_COLUMNS = `t."TEAM_ID", t."NAME", t."CREATED_AT", t."STORE_ID", t."DEFAULT_STAGE",
  t."STRICT", t."MONTH_QUOTA", t."OWN_QUOTA", t."CALLS_PER_SECOND"`;

/** Converts a row without the slower `toRecord`, because every call of the API loads its tenant. */
export function toTenant(found: TenantRow): Tenant {
  const [teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, ownQuota, callsPerSecond] = found;
  const limits = { monthQuota, ownQuota, callsPerSecond };
  return { teamId, name, createdAt, storeId, defaultStage, strict: strict === 1, ...limits };
}

export const USER: readonly (keyof User)[] = [
  'teamId',
  'email',
  'role',
  'createdAt',
  'passwordHash',
  'passwordSetAt',
  'sealedSecret',
  'lastStep',
  'failures',
  'nextTryAt',
  'linkHash',
  'linkEndsAt',
];

export const SESSION: readonly (keyof Session)[] = [
  'tokenHash',
  'sessionId',
  'teamId',
  'email',
  'createdAt',
  'seenAt',
  'client',
  'agent',
  'provenAt',
  'failures',
  'nextTryAt',
];

/** Condition of a statement about one user, and its values. */
export const THIS_USER = '"TEAM_ID" = ? AND "EMAIL" = ?';
export const userKey = ({ teamId, email }: UserName): [string, string] => [teamId, email];

/**
 * `version` is the version of the service, `origin` its scheme, host and port, `webhookPrivate` its setting, `identity`
 * the identity of the embedded store.
 */
type InstallationName = 'version' | 'origin' | 'webhookPrivate' | 'identity';

export const selectInstallation = (schema: string): string =>
  `SELECT "VALUE" FROM ${schema}"INSTALLATION" WHERE "NAME" = ?`;

export interface Installation {
  /** Returns undefined for all but `identity` before the first start of a service. */
  loadInstalled(name: InstallationName): Promise<string | undefined>;
  saveInstalled(values: Readonly<Record<Exclude<InstallationName, 'identity'>, string>>): Promise<void>;
}

export const makeInstallation = (db: ControlDatabase): Installation => ({
  loadInstalled: async (name) => (await db.readRows<[string]>(selectInstallation(db.schema), name))[0]?.[0],
  saveInstalled: (values) =>
    commitWriting(db, function* () {
      // Reads first, so that nodes that start together on PostgreSQL write only if a value changes.
      for (const [name, value] of Object.entries(values)) {
        const found = yield* yieldRow<[string]>(selectInstallation(db.schema), name);
        if (found?.[0] === value) continue;
        const insert = `INSERT INTO ${db.schema}"INSTALLATION" ("NAME", "VALUE") VALUES (?, ?)`;
        yield statement(`${insert} ON CONFLICT ("NAME") DO UPDATE SET "VALUE" = EXCLUDED."VALUE"`, name, value);
      }
    }),
});

/** Describes an upgrade for the log of either store. */
export const describeUpgrade = (tenants: number, ms: number): string =>
  `Upgraded the store to the schemas of this version (tenants: ${tenants}) in ${(ms / 1000).toFixed(3)} s.`;
