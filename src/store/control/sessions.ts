/** The sessions of the users in any SQL store. Callers decide whether a session has expired. */
import type { Session, SessionChoice, SessionStore, User, UserName } from '../../account/account-port.ts';
import { NO_FAILURES } from '../../account/users.ts';
import { orThrow, Refusal } from '../../errors.ts';
import { rows, statement, type Bound, type Writing } from '../writing.ts';
import { commitAudited } from './audit.ts';
import { changesRow, commitOne, commitRow, type ControlDatabase } from './control.ts';
import { insertRow, listColumns, loadRecords, SESSION, TENANT_COLUMNS, THIS_USER, toRecord } from './rows.ts';
import { toTenant, updateRows, USER, userKey, type TenantRow } from './rows.ts';

export function makeSessionStore(db: ControlDatabase): SessionStore {
  const { schema } = db;
  const [sessions, users] = [`${schema}"SESSIONS"`, `${schema}"USERS"`];
  const thisSession = '"TOKEN_HASH" = ?';
  return {
    async findSession(tokenHash) {
      const columns = `${listColumns(SESSION, 's')}, ${listColumns(USER, 'u')}, ${TENANT_COLUMNS}`;
      const sql = `SELECT ${columns} FROM ${sessions} s
        JOIN ${users} u ON u."TEAM_ID" = s."TEAM_ID" AND u."EMAIL" = s."EMAIL"
        JOIN ${schema}"TENANTS" t ON t."TEAM_ID" = s."TEAM_ID" WHERE s.${thisSession}`;
      const [found] = await db.read(sql, tokenHash);
      if (!found) return undefined;
      const rest = found.slice(SESSION.length);
      const tenant = toTenant(rest.slice(USER.length) as TenantRow);
      return { session: toRecord<Session>(SESSION, found), user: toRecord<User>(USER, rest), tenant };
    },

    openSession: (session, entry, replaces) =>
      commitAudited(db, session.teamId, entry, function* () {
        const forget = updateRows(users, { ...NO_FAILURES }, THIS_USER, ...userKey(session));
        // The user may have been deleted since the password was checked.
        if (!(yield* changesRow(forget))) return new Refusal('NOT_SIGNED_IN');
        if (replaces) yield statement(`DELETE FROM ${sessions} WHERE ${thisSession}`, replaces);
        yield insertRow(sessions, { ...session });
        return undefined;
      }).then(orThrow),
    updateSession(tokenHash, change, failures) {
      const [where, ...values] = failures === undefined ? [''] : [' AND "FAILURES" = ?', failures];
      return commitRow(db, updateRows(sessions, { ...change }, thisSession + where, tokenHash, ...values));
    },

    listSessions(name) {
      const where = `${THIS_USER} ORDER BY "CREATED_AT" DESC, "SESSION_ID"`;
      return loadRecords<Session>(db, 'SESSIONS', SESSION, where, ...userKey(name));
    },
    endSessions: (name, which, entry) =>
      commitAudited(db, name.teamId, entry, () => deleteSessions(schema, name, which)).then(orThrow),
    deleteSessionsBefore: (createdBefore, seenBefore) =>
      commitOne(
        db,
        statement(`DELETE FROM ${sessions} WHERE "CREATED_AT" < ? OR "SEEN_AT" < ?`, createdBefore, seenBefore),
      ),
  };
}

export function* deleteSessions(schema: string, name: UserName, which: SessionChoice): Writing<number> {
  const [where, ...values]: [string, ...Bound[]] =
    which === 'all'
      ? ['']
      : 'except' in which
        ? [' AND "TOKEN_HASH" <> ?', which.except]
        : [' AND "SESSION_ID" = ?', which.sessionId];
  const sql = `DELETE FROM ${schema}"SESSIONS" WHERE ${THIS_USER}${where} RETURNING 1`;
  return (yield* rows(sql, ...userKey(name), ...values)).length;
}
