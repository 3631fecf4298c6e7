/** Rows of the control tables and their records. One rule names the columns: `createdAt` is kept in "CREATED_AT". */
import type { Session, User } from '../../account/port.ts';
import type { Tenant } from '../../tenant/port.ts';
import { statement, type Bound, type Row, type Statement } from '../writing.ts';

const columnOf = (property: string): string => `"${property.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}"`;

/** The columns of a table that the statement names by an alias. */
export const listColumns = (properties: readonly string[], alias: string): string =>
  properties.map((property) => `${alias}.${columnOf(property)}`).join(', ');

/** `toRecord(['teamId', 'at'], ['acme', '2026'])` is `{ teamId: 'acme', at: '2026' }`. */
export const toRecord = <T>(properties: readonly (keyof T)[], row: Row): T =>
  Object.fromEntries(properties.map((property, index) => [property, row[index]])) as T;

type BoundRecord = Readonly<Record<string, Bound>>;

export function insertRow(table: string, record: BoundRecord): Statement {
  const columns = Object.keys(record).map(columnOf).join(', ');
  const places = Object.keys(record).fill('?').join(', ');
  return statement(`INSERT INTO ${table} (${columns}) VALUES (${places})`, ...Object.values(record));
}

/** `UPDATE … SET …` with all values of the record; the condition follows. */
export function updateRows(table: string, record: BoundRecord, where: string, ...values: Bound[]): Statement {
  const set = Object.keys(record).map((property) => `${columnOf(property)} = ?`);
  return statement(`UPDATE ${table} SET ${set.join(', ')} WHERE ${where}`, ...Object.values(record), ...values);
}

export type TenantRow = [string, string, string, string, Tenant['defaultStage'], number, number | null, number | null];

/** Of a table TENANTS that the statement names `t`. */
export const TENANT_COLUMNS = `t."TEAM_ID", t."NAME", t."CREATED_AT", t."STORE_ID", t."DEFAULT_STAGE",
  CAST(t."STRICT" AS INTEGER), t."MONTH_QUOTA", t."CALLS_PER_SECOND"`;

/** Written out, since every call of the API loads its tenant. */
export function toTenant(row: TenantRow): Tenant {
  const [teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, callsPerSecond] = row;
  return { teamId, name, createdAt, storeId, defaultStage, strict: strict === 1, monthQuota, callsPerSecond };
}

type StoredUser = Omit<User, 'link'> & { readonly linkHash: Uint8Array | null; readonly linkEndsAt: string };

export const USER: readonly (keyof StoredUser)[] = [
  ...(['teamId', 'email', 'role', 'createdAt', 'passwordHash', 'passwordSetAt', 'sealedSecret', 'lastStep'] as const),
  ...(['failures', 'nextTryAt', 'linkHash', 'linkEndsAt'] as const),
];

export function toUser(row: Row): User {
  const { linkHash, linkEndsAt, ...user } = toRecord<StoredUser>(USER, row);
  return { ...user, link: linkHash && { hash: linkHash, endsAt: linkEndsAt } };
}

export const SESSION: readonly (keyof Session)[] = [
  ...(['tokenHash', 'sessionId', 'teamId', 'email', 'createdAt', 'seenAt', 'client', 'agent'] as const),
  ...(['provenAt', 'failures', 'nextTryAt'] as const),
];

export const toSession = (row: Row): Session => toRecord<Session>(SESSION, row);

/** Condition of a statement about one user. */
export const THIS_USER = '"TEAM_ID" = ? AND "EMAIL" = ?';
