/** Converts between rows of the control tables and records. The column of `createdAt` is "CREATED_AT", and so on. */
import type { Session, User, UserName } from '../../account/account-port.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { statement, type Bound, type Row, type Statement } from '../writing.ts';
import type { ReadableTables } from './control.ts';

const columnOf = (property: string) => `"${property.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}"`;

/** Lists the columns of these properties, of the table that a statement names by the alias. */
export const listColumns = (properties: readonly string[], alias: string): string =>
  properties.map((property) => `${alias}.${columnOf(property)}`).join(', ');

/** Converts a row to a record: `toRecord(['teamId', 'at'], ['acme', '2026'])` is `{ teamId: 'acme', at: '2026' }`. */
export const toRecord = <T>(properties: readonly (keyof T)[], row: Row): T =>
  Object.fromEntries(properties.map((property, index) => [property, row[index]])) as T;

/** Loads the records of a table that a condition holds for. The condition may have an order and a limit after it. */
export async function loadRecords<T>(
  db: ReadableTables,
  table: string,
  properties: readonly (keyof T & string)[],
  where: string,
  ...values: Bound[]
): Promise<T[]> {
  const sql = `SELECT ${listColumns(properties, 't')} FROM ${db.schema}"${table}" t WHERE ${where}`;
  const found = await db.read(sql, ...values);
  return found.map((row) => toRecord<T>(properties, row));
}

type BoundRecord = Readonly<Record<string, Bound>>;

export function insertRow(table: string, record: BoundRecord, onConflict = ''): Statement {
  const columns = Object.keys(record).map(columnOf).join(', ');
  const places = Object.keys(record).fill('?').join(', ');
  return statement(`INSERT INTO ${table} (${columns}) VALUES (${places})${onConflict}`, ...Object.values(record));
}

/** Updates the rows that a condition holds for, with all values of the record. */
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

/** The columns of a TenantRow, of a table TENANTS that the statement names `t`. */
export const TENANT_COLUMNS = `t."TEAM_ID", t."NAME", t."CREATED_AT", t."STORE_ID", t."DEFAULT_STAGE",
  CAST(t."STRICT" AS INTEGER), t."MONTH_QUOTA", t."OWN_QUOTA", t."CALLS_PER_SECOND"`;

/** This does not use the slower `toRecord`, because every call of the API loads its tenant. */
export function toTenant(row: TenantRow): Tenant {
  const [teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, ownQuota, callsPerSecond] = row;
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
