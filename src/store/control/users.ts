/**
 * The users of the tenants and their sessions in any SQL store. Each audited change locks the tenant's audit log
 * first, so that the rules of account/users.ts see all earlier ones. Callers decide whether a session, a link or a wait
 * has ended.
 */
import { createHmac } from 'node:crypto';
import type {
  Failures,
  Session,
  SessionChoice,
  SessionStore,
  User,
  UserChange,
  UserName,
  UserStore,
} from '../../account/account-port.ts';
import { checkUserChange, NO_FAILURES, type LoadedUser } from '../../account/users.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import { orThrow, Refusal } from '../../errors.ts';
import { yieldRow, yieldRows, statement, type Bound, type Writing } from '../sql/writing.ts';
import { commitAudited } from './audit.ts';
import {
  changesRow,
  commitOne,
  commitRow,
  insertRow,
  isPlain,
  listColumns,
  loadRecords,
  loadCursorKey,
  SESSION,
  TENANT_COLUMNS,
  THIS_USER,
  toRecord,
  toTenant,
  updateRows,
  USER,
  userKey,
  type ControlDatabase,
  type TenantRow,
} from './control.ts';

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
      const [found] = await db.readRows(sql, tokenHash);
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

function* deleteSessions(schema: string, name: UserName, which: SessionChoice): Writing<number> {
  const [where, ...values]: [string, ...Bound[]] =
    which === 'all'
      ? ['']
      : 'except' in which
        ? [' AND "TOKEN_HASH" <> ?', which.except]
        : [' AND "SESSION_ID" = ?', which.sessionId];
  const sql = `DELETE FROM ${schema}"SESSIONS" WHERE ${THIS_USER}${where} RETURNING 1`;
  return (yield* yieldRows(sql, ...userKey(name), ...values)).length;
}

/** Returns the row of a name without an account. A key of the installation decides it, so no caller can choose it. */
async function slotOf(db: ControlDatabase, name: UserName) {
  const key = await loadCursorKey(db);
  const nameHash = createHmac('sha256', key)
    .update(JSON.stringify(userKey(name)))
    .digest();
  return { slot: nameHash.readUInt16BE(), nameHash };
}

const NEW_USER = { passwordHash: '', passwordSetAt: '', lastStep: 0, ...NO_FAILURES };

export function makeUserStore(db: ControlDatabase): UserStore {
  const { schema } = db;
  const [users, codes] = [`${schema}"USERS"`, `${schema}"RECOVERY_CODES"`];
  const loadUsers = (where: string, ...values: Bound[]) =>
    loadRecords<User>(db, 'USERS', USER, `${where} ORDER BY "EMAIL"`, ...values);
  /** Changes a user if the rules allow it. */
  const changeUser = (name: UserName, change: UserChange | null, entry: AuditEntry, work: () => Writing<void>) =>
    commitAudited(db, name.teamId, entry, function* () {
      return checkUserChange(name, yield* loadUser(schema, name), change) ?? (yield* work());
    });
  return {
    findUser: async (name) =>
      isPlain(name.teamId) && isPlain(name.email) ? (await loadUsers(THIS_USER, ...userKey(name)))[0] : undefined,
    findUserByLink: async (linkHash) => (await loadUsers('"LINK_HASH" = ?', linkHash))[0],
    listUsers: (teamId) => loadUsers('"TEAM_ID" = ?', teamId),

    createUser(user, entry) {
      const insert = insertRow(users, { ...user, ...NEW_USER }, ' ON CONFLICT ("TEAM_ID", "EMAIL") DO NOTHING');
      return commitAudited(db, user.teamId, entry, function* () {
        return (yield* changesRow(insert)) ? undefined : new Refusal('USER_EXISTS');
      });
    },
    updateUser: (name, change, entry) => changeUser(name, change, entry, () => saveChange(schema, name, change)),
    deleteUser: (name, entry) =>
      changeUser(name, null, entry, function* () {
        yield statement(`DELETE FROM ${users} WHERE ${THIS_USER}`, ...userKey(name));
      }),

    setFailures: (name, before, { failures, nextTryAt }) =>
      commitRow(
        db,
        updateRows(users, { failures, nextTryAt }, `${THIS_USER} AND "FAILURES" = ?`, ...userKey(name), before),
      ),
    async findUnknownFailures(name) {
      const where = '"SLOT" = ? AND "NAME_HASH" = ?';
      const values = Object.values(await slotOf(db, name));
      const [found] = await loadRecords<Failures>(db, 'UNKNOWN_NAMES', ['failures', 'nextTryAt'], where, ...values);
      return found ?? NO_FAILURES;
    },
    async countUnknownFailure(name, after) {
      const onConflict = ` ON CONFLICT ("SLOT") DO UPDATE SET "NAME_HASH" = EXCLUDED."NAME_HASH",
        "FAILURES" = EXCLUDED."FAILURES", "NEXT_TRY_AT" = EXCLUDED."NEXT_TRY_AT"
        WHERE t."NAME_HASH" <> EXCLUDED."NAME_HASH" OR t."FAILURES" = EXCLUDED."FAILURES" - 1`;
      return commitRow(
        db,
        insertRow(`${schema}"UNKNOWN_NAMES" AS t`, { ...(await slotOf(db, name)), ...after }, onConflict),
      );
    },
    useStep: (name, lastStep) =>
      commitRow(db, updateRows(users, { lastStep }, `${THIS_USER} AND "LAST_STEP" < ?`, ...userKey(name), lastStep)),
    useRecoveryCode: (name, hash) =>
      commitRow(db, statement(`DELETE FROM ${codes} WHERE ${THIS_USER} AND "CODE_HASH" = ?`, ...userKey(name), hash)),
    async countRecoveryCodes(name) {
      const [found] = await db.readRows<[number]>(`SELECT count(*) FROM ${codes} WHERE ${THIS_USER}`, ...userKey(name));
      return found![0];
    },
  };
}

const LOADED = ['role', 'passwordHash', 'sealedSecret'] as const;

function* loadUser(schema: string, name: UserName): Writing<LoadedUser | undefined> {
  const owners = `(SELECT count(*) FROM ${schema}"USERS" o WHERE o."TEAM_ID" = u."TEAM_ID" AND o."ROLE" = 'owner')`;
  const columns = listColumns(LOADED, 'u');
  const found = yield* yieldRow(
    `SELECT ${columns}, ${owners} FROM ${schema}"USERS" u WHERE ${THIS_USER}`,
    ...userKey(name),
  );
  return found && toRecord<LoadedUser>([...LOADED, 'owners'], found);
}

function* saveChange(schema: string, name: UserName, change: UserChange): Writing<void> {
  const { set, recoveryHashes, endSessions } = change;
  if (set) yield updateRows(`${schema}"USERS"`, set, THIS_USER, ...userKey(name));
  if (recoveryHashes) {
    const codes = `${schema}"RECOVERY_CODES"`;
    yield statement(`DELETE FROM ${codes} WHERE ${THIS_USER}`, ...userKey(name));
    for (const [index, codeHash] of recoveryHashes.entries())
      yield insertRow(codes, { teamId: name.teamId, email: name.email, number: index + 1, codeHash });
  }
  if (endSessions) yield* deleteSessions(schema, name, endSessions);
}
