/**
 * The users of the tenants in any SQL store. Each change locks the audit log first, so that the rules of
 * account/users.ts see the change before. Callers know whether a link or a wait has ended.
 */
import type { User, UserChange, UserName, UserStore } from '../../account/port.ts';
import { checkUserChange, type LoadedUser } from '../../account/users.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import { row, run, statement, type Bound, type Writing } from '../writing.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { commit, isPlain, type ControlDatabase } from './database.ts';
import { insertRow, listColumns, THIS_USER, toRecord, toUser, updateRows, USER } from './rows.ts';
import { deleteSessions } from './session-store.ts';

export class SqlUserStore implements UserStore {
  readonly #db: ControlDatabase;

  constructor(db: ControlDatabase) {
    this.#db = db;
  }

  async findUser({ teamId, email }: UserName): Promise<User | undefined> {
    if (!isPlain(teamId) || !isPlain(email)) return undefined;
    return (await this.#load('u."TEAM_ID" = ? AND u."EMAIL" = ?', teamId, email))[0];
  }

  async findUserByLink(linkHash: Uint8Array): Promise<User | undefined> {
    return (await this.#load('u."LINK_HASH" = ?', linkHash))[0];
  }

  listUsers(teamId: string): Promise<User[]> {
    return this.#load('u."TEAM_ID" = ?', teamId);
  }

  createUser(user: Parameters<UserStore['createUser']>[0], entry: AuditEntry): Promise<Outcome<void>> {
    const { schema } = this.#db;
    const { link, ...named } = user;
    const { sql, values } = insertRow(`${schema}"USERS"`, { ...named, ...NEW_USER, ...toLinkColumns(link) });
    return this.#db.transaction(function* (): Writing<Outcome<void>> {
      const head = yield* lockAudit(schema, user.teamId);
      if (!(yield* row(`${sql} ON CONFLICT ("TEAM_ID", "EMAIL") DO NOTHING RETURNING 1`, ...values)))
        return new Refusal('USER_EXISTS');
      yield* appendAudit(head, entry);
      return undefined;
    });
  }

  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>> {
    const { schema } = this.#db;
    return this.#db.transaction(function* (): Writing<Outcome<void>> {
      const head = yield* lockAudit(schema, name.teamId);
      const refusal = checkUserChange(name, yield* loadUser(schema, name), change);
      if (refusal) return refusal;
      yield* saveChange(schema, name, change);
      yield* appendAudit(head, entry);
      return undefined;
    });
  }

  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>> {
    const { schema } = this.#db;
    return this.#db.transaction(function* (): Writing<Outcome<void>> {
      const head = yield* lockAudit(schema, name.teamId);
      const refusal = checkUserChange(name, yield* loadUser(schema, name), { role: null });
      if (refusal) return refusal;
      yield statement(`DELETE FROM ${schema}"USERS" WHERE ${THIS_USER}`, name.teamId, name.email);
      yield* appendAudit(head, entry);
      return undefined;
    });
  }

  countAttempt({ teamId, email }: UserName, failures: number, nextTryAt: string): Promise<boolean> {
    const set = `SET "FAILURES" = "FAILURES" + 1, "NEXT_TRY_AT" = ? WHERE ${THIS_USER} AND "FAILURES" = ?`;
    return this.#take(`UPDATE ${this.#db.schema}"USERS" ${set}`, nextTryAt, teamId, email, failures);
  }

  undoAttempt({ teamId, email }: UserName, failures: number, nextTryAt: string): Promise<void> {
    const set = `SET "FAILURES" = ?, "NEXT_TRY_AT" = ? WHERE ${THIS_USER} AND "FAILURES" = ?`;
    const sql = `UPDATE ${this.#db.schema}"USERS" ${set}`;
    return commit(this.#db, () => run(sql, failures, nextTryAt, teamId, email, failures + 1));
  }

  useStep({ teamId, email }: UserName, step: number): Promise<boolean> {
    const set = `SET "LAST_STEP" = ? WHERE ${THIS_USER} AND "LAST_STEP" < ?`;
    return this.#take(`UPDATE ${this.#db.schema}"USERS" ${set}`, step, teamId, email, step);
  }

  useRecoveryCode({ teamId, email }: UserName, hash: Uint8Array): Promise<boolean> {
    const codes = `${this.#db.schema}"RECOVERY_CODES"`;
    return this.#take(`DELETE FROM ${codes} WHERE ${THIS_USER} AND "CODE_HASH" = ?`, teamId, email, hash);
  }

  async countRecoveryCodes({ teamId, email }: UserName): Promise<number> {
    const sql = `SELECT count(*) FROM ${this.#db.schema}"RECOVERY_CODES" WHERE ${THIS_USER}`;
    return (await this.#db.read<[number]>(sql, teamId, email))[0]![0];
  }

  async #load(where: string, ...values: Bound[]): Promise<User[]> {
    const from = `FROM ${this.#db.schema}"USERS" u WHERE ${where} ORDER BY u."EMAIL"`;
    return (await this.#db.read(`SELECT ${listColumns(USER, 'u')} ${from}`, ...values)).map(toUser);
  }

  /** Whether the statement changed or deleted a row. When several run at once, one of them does. */
  #take(sql: string, ...values: Bound[]): Promise<boolean> {
    return commit(this.#db, function* () {
      return (yield* row(`${sql} RETURNING 1`, ...values)) !== undefined;
    });
  }
}

const NEW_USER = { passwordHash: '', passwordSetAt: '', lastStep: 0, failures: 0, nextTryAt: '' };

const toLinkColumns = (link: User['link']) => ({ linkHash: link?.hash ?? null, linkEndsAt: link?.endsAt ?? '' });

function* loadUser(schema: string, { teamId, email }: UserName): Writing<LoadedUser | undefined> {
  const owners = `(SELECT count(*) FROM ${schema}"USERS" o WHERE o."TEAM_ID" = u."TEAM_ID" AND o."ROLE" = 'owner')`;
  const columns = listColumns(['role', 'passwordHash'], 'u');
  const found = yield* row(`SELECT ${columns}, ${owners} FROM ${schema}"USERS" u WHERE ${THIS_USER}`, teamId, email);
  return found && toRecord<LoadedUser>(['role', 'passwordHash', 'owners'], found);
}

function* saveChange(schema: string, { teamId, email }: UserName, change: UserChange): Writing<void> {
  const { role, password, secondFactor, sealedSecret, link, endSessions } = change;
  const record = {
    ...(role && { role }),
    ...(password && { passwordHash: password.hash, passwordSetAt: password.setAt }),
    ...(secondFactor !== undefined && {
      sealedSecret: secondFactor?.sealedSecret ?? null,
      lastStep: secondFactor?.lastStep ?? 0,
    }),
    ...(link !== undefined && toLinkColumns(link)),
    ...(change.forgetFailures && { failures: 0, nextTryAt: '' }),
  };
  const users = `${schema}"USERS"`;
  if (Object.keys(record).length > 0) yield updateRows(users, record, THIS_USER, teamId, email);
  // A second factor that was taken away meanwhile stays away.
  if (sealedSecret && secondFactor === undefined)
    yield updateRows(users, { sealedSecret }, `${THIS_USER} AND "SEALED_SECRET" IS NOT NULL`, teamId, email);
  if (secondFactor !== undefined) {
    const codes = `${schema}"RECOVERY_CODES"`;
    yield statement(`DELETE FROM ${codes} WHERE ${THIS_USER}`, teamId, email);
    for (const [index, codeHash] of (secondFactor?.recoveryHashes ?? []).entries())
      yield insertRow(codes, { teamId, email, number: index + 1, codeHash });
  }
  if (endSessions) yield* deleteSessions(schema, { teamId, email }, endSessions);
}
