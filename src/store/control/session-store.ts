/** The sessions of the users in any SQL store. Callers know whether one has ended by itself. */
import type { Session, SessionChoice, SessionRenewal, SessionStore } from '../../account/port.ts';
import type { SignedIn, UserName } from '../../account/port.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import { row, rows, run, statement, type Bound, type Statement, type Writing } from '../writing.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { commit, type ControlDatabase } from './database.ts';
import { insertRow, listColumns, SESSION, TENANT_COLUMNS, THIS_USER, updateRows, USER } from './rows.ts';
import { toSession, toTenant, toUser, type TenantRow } from './rows.ts';

export class SqlSessionStore implements SessionStore {
  readonly #db: ControlDatabase;

  constructor(db: ControlDatabase) {
    this.#db = db;
  }

  async findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined> {
    const { schema } = this.#db;
    const columns = `${listColumns(SESSION, 's')}, ${listColumns(USER, 'u')}, ${TENANT_COLUMNS}`;
    const user = `JOIN ${schema}"USERS" u ON u."TEAM_ID" = s."TEAM_ID" AND u."EMAIL" = s."EMAIL"`;
    const tenant = `JOIN ${schema}"TENANTS" t ON t."TEAM_ID" = s."TEAM_ID"`;
    const sql = `SELECT ${columns} FROM ${schema}"SESSIONS" s ${user} ${tenant} WHERE s."TOKEN_HASH" = ?`;
    const [found] = await this.#db.read(sql, tokenHash);
    if (!found) return undefined;
    const rest = found.slice(SESSION.length);
    const tenantRow = rest.slice(USER.length) as TenantRow;
    return { session: toSession(found), user: toUser(rest), tenant: toTenant(tenantRow) };
  }

  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void> {
    const { schema } = this.#db;
    const { teamId, email } = session;
    return commit(this.#db, function* (): Writing<Outcome<void>> {
      const head = entry && (yield* lockAudit(schema, teamId));
      const forget = `UPDATE ${schema}"USERS" SET "FAILURES" = 0, "NEXT_TRY_AT" = '' WHERE ${THIS_USER} RETURNING 1`;
      // The user may have been deleted since the password was checked.
      if (!(yield* row(forget, teamId, email))) return new Refusal('NOT_SIGNED_IN');
      if (replaces) yield statement(`DELETE FROM ${schema}"SESSIONS" WHERE "TOKEN_HASH" = ?`, replaces);
      yield insertRow(`${schema}"SESSIONS"`, { ...session });
      if (head && entry) yield* appendAudit(head, entry);
      return undefined;
    });
  }

  touchSession(tokenHash: Uint8Array, seenAt: string): Promise<void> {
    const sql = `UPDATE ${this.#db.schema}"SESSIONS" SET "SEEN_AT" = ? WHERE "TOKEN_HASH" = ?`;
    return commit(this.#db, () => run(sql, seenAt, tokenHash));
  }

  renewSession(tokenHash: Uint8Array, renewal: SessionRenewal): Promise<boolean> {
    const sessions = `${this.#db.schema}"SESSIONS"`;
    return this.#isChanged(updateRows(sessions, { ...renewal }, '"TOKEN_HASH" = ? RETURNING 1', tokenHash));
  }

  countAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<boolean> {
    return this.#setFailures(tokenHash, failures, failures + 1, nextTryAt);
  }

  async undoAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<void> {
    await this.#setFailures(tokenHash, failures + 1, failures, nextTryAt);
  }

  #setFailures(tokenHash: Uint8Array, from: number, failures: number, nextTryAt: string): Promise<boolean> {
    const where = '"TOKEN_HASH" = ? AND "FAILURES" = ? RETURNING 1';
    const sessions = `${this.#db.schema}"SESSIONS"`;
    return this.#isChanged(updateRows(sessions, { failures, nextTryAt }, where, tokenHash, from));
  }

  #isChanged({ sql, values }: Statement): Promise<boolean> {
    return commit(this.#db, function* () {
      return (yield* row(sql, ...values)) !== undefined;
    });
  }

  async listSessions({ teamId, email }: UserName): Promise<Session[]> {
    const from = `FROM ${this.#db.schema}"SESSIONS" s WHERE ${THIS_USER} ORDER BY s."CREATED_AT" DESC, s."SESSION_ID"`;
    return (await this.#db.read(`SELECT ${listColumns(SESSION, 's')} ${from}`, teamId, email)).map(toSession);
  }

  endSessions(name: UserName, which: SessionChoice, entry: AuditEntry): Promise<number> {
    const { schema } = this.#db;
    return commit(this.#db, function* () {
      const head = yield* lockAudit(schema, name.teamId);
      const ended = yield* deleteSessions(schema, name, which);
      if (ended > 0) yield* appendAudit(head, entry);
      return ended;
    });
  }

  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void> {
    const sql = `DELETE FROM ${this.#db.schema}"SESSIONS" WHERE "CREATED_AT" < ? OR "SEEN_AT" < ?`;
    return commit(this.#db, () => run(sql, createdBefore, seenBefore));
  }
}

export function* deleteSessions(schema: string, { teamId, email }: UserName, which: SessionChoice): Writing<number> {
  const [where, ...values]: [string, ...Bound[]] =
    which === 'all'
      ? ['']
      : 'except' in which
        ? [' AND "TOKEN_HASH" <> ?', which.except]
        : [' AND "SESSION_ID" = ?', which.sessionId];
  const sql = `DELETE FROM ${schema}"SESSIONS" WHERE ${THIS_USER}${where} RETURNING 1`;
  return (yield* rows(sql, teamId, email, ...values)).length;
}
