/**
 * The people of the tenants, their sessions and the audit log, in any SQL store: the ports of account/store.ts over the control data. Whether a link, a
 * session or a wait is over is for its caller to say; here is no clock.
 */
import type { Session, SessionStore, SignedIn, User, UserChange, UserName, UserStore } from '../../account/port.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { appendAudit, AuditLog, lockAudit } from './audit-store.ts';
import { insist, isPlain } from './database.ts';
import { TENANT_COLUMNS, toTenant, type TenantRow } from './tenants.ts';
import {
  updateUser,
  createUser,
  endSessionsOf,
  deleteUser,
  THIS_USER,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from './user-changes.ts';
import { row, run, write, type Bound, type Writing } from '../writing.ts';

type SessionRow = [Uint8Array, string, string, string, string, string, string, string];
const SESSION_COLUMNS = [
  'TOKEN_HASH',
  'SESSION_ID',
  'TEAM_ID',
  'EMAIL',
  'CREATED_AT',
  'SEEN_AT',
  'CLIENT',
  'AGENT',
].map((name) => `s."${name}"`);

function toSession([tokenHash, sessionId, teamId, email, createdAt, seenAt, client, agent]: SessionRow): Session {
  return { tokenHash, sessionId, teamId, email, createdAt, seenAt, client, agent };
}

export class AccountStore extends AuditLog implements UserStore, SessionStore {
  async findUser({ teamId, email }: UserName): Promise<User | undefined> {
    if (!isPlain(teamId) || !isPlain(email)) return undefined;
    return (await this.#loadUsers('u."TEAM_ID" = ? AND u."EMAIL" = ?', teamId, email))[0];
  }

  async findUserByLink(linkHash: Uint8Array): Promise<User | undefined> {
    return (await this.#loadUsers('u."LINK_HASH" = ?', linkHash))[0];
  }

  listUsers(teamId: string): Promise<User[]> {
    return this.#loadUsers('u."TEAM_ID" = ?', teamId);
  }

  createUser(user: Parameters<UserStore['createUser']>[0], entry: AuditEntry): Promise<Outcome<void>> {
    return this.control.change(() => createUser(this.control.schema, user, entry));
  }

  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>> {
    return this.control.change(() => updateUser(this.control.schema, name, change, entry));
  }

  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>> {
    return this.control.change(() => deleteUser(this.control.schema, name, entry));
  }

  countAttempt({ teamId, email }: UserName, failures: number, nextTryAt: string): Promise<boolean> {
    const set = `SET "FAILURES" = "FAILURES" + 1, "NEXT_TRY_AT" = ? WHERE ${THIS_USER} AND "FAILURES" = ?`;
    return this.#take(`UPDATE ${this.control.schema}"USERS" ${set}`, nextTryAt, teamId, email, failures);
  }

  undoAttempt({ teamId, email }: UserName, failures: number, nextTryAt: string): Promise<void> {
    const set = `SET "FAILURES" = ?, "NEXT_TRY_AT" = ? WHERE ${THIS_USER} AND "FAILURES" = ?`;
    return this.#write(`UPDATE ${this.control.schema}"USERS" ${set}`, failures, nextTryAt, teamId, email, failures + 1);
  }

  useStep({ teamId, email }: UserName, step: number): Promise<boolean> {
    return this.#take(
      `UPDATE ${this.control.schema}"USERS" SET "LAST_STEP" = ? WHERE ${THIS_USER} AND "LAST_STEP" < ?`,
      step,
      teamId,
      email,
      step,
    );
  }

  useRecoveryCode({ teamId, email }: UserName, hash: Uint8Array): Promise<boolean> {
    return this.#take(
      `DELETE FROM ${this.control.schema}"RECOVERY_CODES" WHERE ${THIS_USER} AND "CODE_HASH" = ?`,
      teamId,
      email,
      hash,
    );
  }

  async countRecoveryCodes({ teamId, email }: UserName): Promise<number> {
    const sql = `SELECT count(*) FROM ${this.control.schema}"RECOVERY_CODES" WHERE ${THIS_USER}`;
    return (await this.control.read<[number]>(sql, teamId, email))[0]![0];
  }

  async findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined> {
    const { schema } = this.control;
    const columns = [...SESSION_COLUMNS, ...USER_COLUMNS, TENANT_COLUMNS].join(', ');
    const join = `JOIN ${schema}"USERS" u ON u."TEAM_ID" = s."TEAM_ID" AND u."EMAIL" = s."EMAIL" JOIN ${schema}"TENANTS" t ON t."TEAM_ID" = s."TEAM_ID"`;
    const [found] = await this.control.read(
      `SELECT ${columns} FROM ${schema}"SESSIONS" s ${join} WHERE s."TOKEN_HASH" = ?`,
      tokenHash,
    );
    if (!found) return undefined;
    const rest = found.slice(SESSION_COLUMNS.length);
    return {
      session: toSession(found as unknown as SessionRow),
      user: toUser(rest as unknown as UserRow),
      tenant: toTenant(rest.slice(USER_COLUMNS.length) as TenantRow),
    };
  }

  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void> {
    return insist(this.control.change(() => openSession(this.control.schema, session, entry, replaces)));
  }

  touchSession(tokenHash: Uint8Array, seenAt: string): Promise<void> {
    return this.#write(
      `UPDATE ${this.control.schema}"SESSIONS" SET "SEEN_AT" = ? WHERE "TOKEN_HASH" = ?`,
      seenAt,
      tokenHash,
    );
  }

  async listSessions({ teamId, email }: UserName): Promise<Session[]> {
    const from = `FROM ${this.control.schema}"SESSIONS" s WHERE ${THIS_USER} ORDER BY s."CREATED_AT" DESC, s."SESSION_ID"`;
    return (await this.control.read<SessionRow>(`SELECT ${SESSION_COLUMNS.join(', ')} ${from}`, teamId, email)).map(
      toSession,
    );
  }

  /** Where there was none to end, nothing happened, and the log has no record of it. */
  endSessions(name: UserName, which: Parameters<SessionStore['endSessions']>[1], entry: AuditEntry): Promise<number> {
    const { schema } = this.control;
    return insist(this.control.change(function* () {
      const head = yield* lockAudit(schema, name.teamId);
      const ended = yield* endSessionsOf(schema, name, which);
      if (ended > 0) yield* appendAudit(head, entry);
      return ended;
    })); // prettier-ignore
  }

  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void> {
    return this.#write(
      `DELETE FROM ${this.control.schema}"SESSIONS" WHERE "CREATED_AT" < ? OR "SEEN_AT" < ?`,
      createdBefore,
      seenBefore,
    );
  }

  async #loadUsers(where: string, ...values: Bound[]): Promise<User[]> {
    const sql = `SELECT ${USER_COLUMNS.join(', ')} FROM ${this.control.schema}"USERS" u WHERE ${where} ORDER BY u."EMAIL"`;
    return (await this.control.read<UserRow>(sql, ...values)).map(toUser);
  }

  /** Whether there was what a statement changes or removes: of several at once, one finds it. */
  #take(sql: string, ...values: Bound[]): Promise<boolean> {
    return insist(this.control.change(function* () {
      return (yield* row(`${sql} RETURNING 1`, ...values)) !== undefined;
    })); // prettier-ignore
  }

  #write(sql: string, ...values: Bound[]): Promise<void> {
    return insist(this.control.change(() => run(sql, ...values)));
  }
}

function* openSession(
  schema: string,
  session: Session,
  entry: AuditEntry | null,
  replaces: Uint8Array | undefined,
): Writing<Outcome<void>> {
  const { tokenHash, sessionId, teamId, email, createdAt, seenAt, client, agent } = session;
  const head = entry && (yield* lockAudit(schema, teamId));
  const found = yield* row(
    `UPDATE ${schema}"USERS" SET "FAILURES" = 0, "NEXT_TRY_AT" = '' WHERE ${THIS_USER} RETURNING 1`,
    teamId,
    email,
  );
  // Removed in this moment.
  if (!found) return new Refusal('NOT_SIGNED_IN');
  if (replaces) yield write(`DELETE FROM ${schema}"SESSIONS" WHERE "TOKEN_HASH" = ?`, replaces);
  const columns = '"TOKEN_HASH", "SESSION_ID", "TEAM_ID", "EMAIL", "CREATED_AT", "SEEN_AT", "CLIENT", "AGENT"';
  const insert = `INSERT INTO ${schema}"SESSIONS" (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  yield write(insert, tokenHash, sessionId, teamId, email, createdAt, seenAt, client, agent);
  if (head && entry) yield* appendAudit(head, entry);
  return undefined;
}
