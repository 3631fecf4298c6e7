/** The tenants and their keys in any SQL store. */
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import { chooseReplaced, refuseNewPair, sortKeys } from '../../tenant/keys.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import type { KeyInfo, KeyTerms, NewKey, TenantStore } from '../../tenant/tenant-port.ts';
import { FIRST_SETTINGS, refuseTaken } from '../../tenant/tenant.ts';
import { yieldRow, yieldRows, statement, type Bound, type Row, type Writing } from '../sql/writing.ts';
import { appendAudit, commitAudited } from './audit.ts';
import {
  changesRow,
  commitOne,
  insertRow,
  isPlain,
  listColumns,
  TENANT_COLUMNS,
  toRecord,
  toTenant,
  updateRows,
  type ControlDatabase,
  type TenantRow,
} from './control.ts';
import { noteChange } from './webhooks.ts';

/** The methods of a TenantStore that differ between the SQL stores. */
export interface OwnTenants extends Pick<TenantStore, 'findCaller' | 'deleteTenant'> {
  /** Returns the columns of a new tenant that only this store has, and a unique name for its records. */
  newStore(teamId: string): { readonly storeId: string; readonly schemaVersion?: number };
  /** Creates the tenant's inventory system together with its rows; `insert` returns false when the teamID is taken. */
  insertTenant(storeId: string, insert: () => Writing<boolean>): Promise<Outcome<boolean>>;
  /** Resolves when no process uses keys and settings that were replaced before. */
  untilForgotten?(): Promise<void>;
}

const KEY = ['apiId', 'name', 'scope', 'issuedAt', 'issuedBy', 'endsAt'] as const;
/** Condition of a statement about keys that are valid after a time. */
const VALID = `("ENDS_AT" = '' OR "ENDS_AT" > ?)`;

export function makeTenantStore(db: ControlDatabase, own: OwnTenants): TenantStore {
  const { schema } = db;
  const [tenants, keys] = [`${schema}"TENANTS"`, `${schema}"API_KEYS"`];
  const commitChange: typeof commitAudited = async (...change) => {
    const outcome = await commitAudited(...change);
    await own.untilForgotten?.();
    return outcome;
  };
  const loadTenants = async (which: string, ...values: Bound[]) =>
    (await db.readRows<TenantRow>(`SELECT ${TENANT_COLUMNS} FROM ${tenants} t ${which}`, ...values)).map(toTenant);
  return {
    findCaller: own.findCaller,
    async deleteTenant(tenant) {
      await own.deleteTenant(tenant);
      await commitOne(db, noteChange(schema));
    },
    findTenant: async (teamId) =>
      isPlain(teamId) ? (await loadTenants('WHERE t."TEAM_ID" = ?', teamId))[0] : undefined,
    listTenants: () => loadTenants('ORDER BY t."TEAM_ID"'),
    listOldest: (most) => loadTenants('ORDER BY t."CREATED_AT", t."TEAM_ID" LIMIT ?', most),
    hasTenants: async () => (await db.readRows(`SELECT 1 FROM ${tenants} LIMIT 1`)).length > 0,

    async createTenant(teamId, name, createdAt, entry) {
      const { storeId, ...columns } = own.newStore(teamId);
      const tenant = { teamId, name, createdAt, storeId, ...FIRST_SETTINGS };
      const record = { ...tenant, strict: Number(tenant.strict), ...columns };
      const isNew = await own.insertTenant(storeId, function* () {
        if (!(yield* changesRow(insertRow(tenants, record, ' ON CONFLICT DO NOTHING')))) return false;
        yield* appendAudit(schema, teamId, entry ?? null);
        return true;
      });
      return isNew === true ? tenant : isNew || refuseTaken(teamId);
    },
    updateTenant: (teamId, { name, defaultStage, strict, monthQuota, ownQuota, callsPerSecond }, entry) =>
      commitChange(db, teamId, entry, function* () {
        const settings = { name, defaultStage, strict: Number(strict), monthQuota, ownQuota, callsPerSecond };
        yield updateRows(tenants, settings, '"TEAM_ID" = ?', teamId);
      }).then(orThrow),

    createKeys: (teamId, { name, scope, ...key }, endsAt, entry) =>
      commitAudited(db, teamId, entry, function* () {
        const refusal = refuseNewPair(yield* loadKeys(keys, teamId, entry.at), name);
        return refusal ?? (yield* insertKey(keys, teamId, key, { name, scope }, endsAt, entry));
      }),
    replaceKeys(teamId, key, oldEndsAt, entry, asked) {
      const detail = { ...entry.detail };
      return commitChange(db, teamId, { ...entry, detail }, function* () {
        const terms = chooseReplaced(yield* loadKeys(keys, teamId, entry.at), asked, oldEndsAt > entry.at);
        if (terms instanceof Refusal) return terms;
        const ofThisName = `"TEAM_ID" = ? AND "NAME" = ? AND ${VALID}`;
        yield updateRows(keys, { endsAt: oldEndsAt }, ofThisName, teamId, terms.name, oldEndsAt);
        yield* insertKey(keys, teamId, key, terms, '', entry);
        detail['name'] = terms.name;
        return terms;
      });
    },
    listKeys: async (teamId, now) => toKeys(await db.readRows(...selectKeys(keys, teamId, now))),
    renameKeys: (teamId, apiId, name, entry) =>
      commitChange(db, teamId, entry, function* () {
        const valid = yield* loadKeys(keys, teamId, entry.at);
        const renamed = valid.find((key) => key.apiId === apiId);
        if (!renamed) return new Refusal('NOT_FOUND', 'There is no valid key with this API ID.', { field: 'apiID' });
        const others = valid.filter((key) => key.name !== renamed.name);
        const refusal = refuseNewPair(others, name);
        if (refusal) return refusal;
        yield updateRows(keys, { name }, `"TEAM_ID" = ? AND "NAME" = ?`, teamId, renamed.name);
        return undefined;
      }),
    async endKey(teamId, apiId, entry) {
      if (!isPlain(apiId)) return false;
      const detail = { ...entry.detail };
      return commitChange(db, teamId, { ...entry, detail }, function* () {
        const sql = `DELETE FROM ${keys} WHERE "TEAM_ID" = ? AND "API_ID" = ? AND ${VALID} RETURNING "NAME"`;
        const ended = yield* yieldRow<[string]>(sql, teamId, apiId, entry.at);
        if (ended) detail['name'] = ended[0];
        return ended !== undefined;
      }).then(orThrow);
    },
  };
}

/** Selects the valid keys of a tenant. For each name, the newest key precedes the keys that it replaced. */
function selectKeys(table: string, teamId: string, now: string): [sql: string, ...values: string[]] {
  const order = `ORDER BY "ENDS_AT" = '' DESC, "ISSUED_AT" DESC, "API_ID"`;
  const sql = `SELECT ${listColumns(KEY, 'k')} FROM ${table} k WHERE "TEAM_ID" = ? AND ${VALID} ${order}`;
  return [sql, teamId, now];
}

function* loadKeys(table: string, teamId: string, now: string): Writing<KeyInfo[]> {
  return toKeys(yield* yieldRows(...selectKeys(table, teamId, now)));
}

const toKeys = (found: readonly Row[]): KeyInfo[] =>
  sortKeys(found.map((key) => toRecord<Omit<KeyInfo, 'isReplaced'>>(KEY, key)));

/** Inserts a key, and deletes those of the tenant that have ended. */
function* insertKey(
  table: string,
  teamId: string,
  { apiId, secretHash }: NewKey,
  terms: KeyTerms,
  endsAt: string,
  { at, actor }: AuditEntry,
): Writing<void> {
  yield statement(`DELETE FROM ${table} WHERE "TEAM_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" <= ?`, teamId, at);
  yield insertRow(table, { apiId, teamId, secretHash, issuedAt: at, endsAt, issuedBy: actor, ...terms });
}
