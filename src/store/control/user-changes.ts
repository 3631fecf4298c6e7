/**
 * What changes a tenant's users, for every SQL store: writings that begin with the lock of the audit log, so that no two of them pass each other and a
 * tenant keeps an owner. Never runs anything.
 */
import type { User, UserChange, UserName, UserStore } from '../../account/port.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { row, rows, write, type Bound, type Writing } from '../writing.ts';

export type UserRow = [
  string,
  string,
  User['role'],
  string,
  string,
  string,
  Uint8Array | null,
  number,
  number,
  string,
  Uint8Array | null,
  string,
];

/** Of a table USERS that the statement names `u`. */
export const USER_COLUMNS =
  'TEAM_ID EMAIL ROLE CREATED_AT PASSWORD_HASH PASSWORD_SET_AT SEALED_SECRET LAST_STEP FAILURES NEXT_TRY_AT LINK_HASH LINK_ENDS_AT'
    .split(' ')
    .map((name) => `u."${name}"`);

export function toUser(columns: UserRow): User {
  const [
    teamId,
    email,
    role,
    createdAt,
    passwordHash,
    passwordSetAt,
    sealedSecret,
    lastStep,
    failures,
    nextTryAt,
    linkHash,
    linkEndsAt,
  ] = columns;
  const link = linkHash && { hash: linkHash, endsAt: linkEndsAt };
  return {
    teamId,
    email,
    role,
    createdAt,
    passwordHash,
    passwordSetAt,
    sealedSecret,
    lastStep,
    failures,
    nextTryAt,
    link,
  };
}

export const THIS_USER = '"TEAM_ID" = ? AND "EMAIL" = ?';
const noUser = (email: string): Refusal =>
  new Refusal('NOT_FOUND', `There is no user '${email}', or not any more as it was.`, { field: 'email' });

export function* createUser(
  schema: string,
  user: Parameters<UserStore['createUser']>[0],
  entry: AuditEntry,
): Writing<Outcome<void>> {
  const { teamId, email, role, createdAt, link } = user;
  const head = yield* lockAudit(schema, teamId);
  const columns = '"TEAM_ID", "EMAIL", "ROLE", "CREATED_AT", "LINK_HASH", "LINK_ENDS_AT"';
  const others = '"PASSWORD_HASH", "PASSWORD_SET_AT", "LAST_STEP", "FAILURES", "NEXT_TRY_AT"';
  const insert = `INSERT INTO ${schema}"USERS" (${columns}, ${others}) VALUES (?, ?, ?, ?, ?, ?, '', '', 0, 0, '') ON CONFLICT ("TEAM_ID", "EMAIL") DO NOTHING RETURNING 1`;
  const created = yield* row(insert, teamId, email, role, createdAt, link.hash, link.endsAt);
  if (!created) return new Refusal('USER_EXISTS');
  yield* appendAudit(head, entry);
  return undefined;
}

export function* updateUser(
  schema: string,
  { teamId, email }: UserName,
  change: UserChange,
  entry: AuditEntry,
): Writing<Outcome<void>> {
  const head = yield* lockAudit(schema, teamId);
  const refusal = yield* checkUser(schema, { teamId, email }, change.role ?? 'same', change.whilePassword);
  if (refusal) return refusal;
  const settings = listSettings(change);
  const set = settings.map(([column]) => `"${column}" = ?`).join(', ');
  if (set !== '')
    yield write(
      `UPDATE ${schema}"USERS" SET ${set} WHERE ${THIS_USER}`,
      ...settings.map(([, value]) => value),
      teamId,
      email,
    );
  const { secondFactor, sealedSecret, endSessions } = change;
  // A second factor that was taken away meanwhile stays away.
  if (sealedSecret && secondFactor === undefined)
    yield write(
      `UPDATE ${schema}"USERS" SET "SEALED_SECRET" = ? WHERE ${THIS_USER} AND "SEALED_SECRET" IS NOT NULL`,
      sealedSecret,
      teamId,
      email,
    );
  if (secondFactor !== undefined) {
    yield write(`DELETE FROM ${schema}"RECOVERY_CODES" WHERE ${THIS_USER}`, teamId, email);
    const insert = `INSERT INTO ${schema}"RECOVERY_CODES" ("TEAM_ID", "EMAIL", "NUMBER", "CODE_HASH") VALUES (?, ?, ?, ?)`;
    for (const [index, hash] of (secondFactor?.recoveryHashes ?? []).entries())
      yield write(insert, teamId, email, index + 1, hash);
  }
  if (endSessions) yield* endSessionsOf(schema, { teamId, email }, endSessions);
  yield* appendAudit(head, entry);
  return undefined;
}

/** Columns of USERS and what is put into them. */
function listSettings({ role, password, secondFactor, link }: UserChange): [string, Bound][] {
  const settings: [string, Bound][] = [];
  if (role) settings.push(['ROLE', role]);
  if (password) settings.push(['PASSWORD_HASH', password.hash], ['PASSWORD_SET_AT', password.setAt]);
  if (secondFactor !== undefined)
    settings.push(['SEALED_SECRET', secondFactor?.sealedSecret ?? null], ['LAST_STEP', secondFactor?.lastStep ?? 0]);
  if (link !== undefined) settings.push(['LINK_HASH', link?.hash ?? null], ['LINK_ENDS_AT', link?.endsAt ?? '']);
  if (link) settings.push(['FAILURES', 0], ['NEXT_TRY_AT', '']);
  return settings;
}

export function* deleteUser(schema: string, { teamId, email }: UserName, entry: AuditEntry): Writing<Outcome<void>> {
  const head = yield* lockAudit(schema, teamId);
  const refusal = yield* checkUser(schema, { teamId, email }, 'none');
  if (refusal) return refusal;
  yield write(`DELETE FROM ${schema}"USERS" WHERE ${THIS_USER}`, teamId, email);
  yield* appendAudit(head, entry);
  return undefined;
}

/** Whether there is such a user, with this password if one is named, and an owner is left when the user gets another role or none. */
function* checkUser(
  schema: string,
  { teamId, email }: UserName,
  role: User['role'] | 'same' | 'none',
  passwordHash?: string,
): Writing<Refusal | undefined> {
  const sql = `SELECT "ROLE", "PASSWORD_HASH" FROM ${schema}"USERS" WHERE ${THIS_USER}`;
  const found = yield* row<[User['role'], string]>(sql, teamId, email);
  if (!found || (passwordHash !== undefined && passwordHash !== found[1])) return noUser(email);
  if (found[0] !== 'owner' || role === 'owner' || role === 'same') return undefined;
  const [owners] = (yield* row<[number]>(
    `SELECT count(*) FROM ${schema}"USERS" WHERE "TEAM_ID" = ? AND "ROLE" = 'owner'`,
    teamId,
  ))!;
  return owners > 1 ? undefined : new Refusal('LAST_OWNER');
}

/** How many were ended. */
export function* endSessionsOf(
  schema: string,
  { teamId, email }: UserName,
  which: 'all' | { readonly sessionId: string } | { readonly except: Uint8Array },
): Writing<number> {
  const end = (where: string, ...values: Bound[]) =>
    rows(`DELETE FROM ${schema}"SESSIONS" WHERE ${THIS_USER}${where} RETURNING 1`, teamId, email, ...values);
  if (which === 'all') return (yield* end('')).length;
  return (yield* 'except' in which
    ? end(' AND "TOKEN_HASH" <> ?', which.except)
    : end(' AND "SESSION_ID" = ?', which.sessionId)).length;
}
