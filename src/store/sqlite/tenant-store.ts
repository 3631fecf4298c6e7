/** Tenants of the embedded store: each has a row in the control file and its own file of records. */
import { randomUUID } from 'node:crypto';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/tenant-port.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { audited } from '../control/audit.ts';
import { commit, TENANT_COLUMNS, toTenant, updateRows, type TenantRow } from '../control/control.ts';
import type { OwnTenants } from '../control/tenants.ts';
import { statement, type Writing } from '../writing.ts';
import type { SqliteControl } from './control-database.ts';

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, k.NAME, k.SCOPE, ${TENANT_COLUMNS}
  FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

type CallerRow = [secretHash: Uint8Array, endsAt: string, name: string, scope: Scope, ...TenantRow];

/** The data of a tenant outside the control file. */
interface Elsewhere {
  readonly makeFile: (storeId: string) => void;
  readonly deleteFile: (storeId: string) => Promise<void>;
  /** Deletes the counts and the request log. */
  readonly deleteCounts: (teamId: string) => Promise<void>;
}

export function makeOwnTenants(control: SqliteControl, { makeFile, deleteFile, deleteCounts }: Elsewhere): OwnTenants {
  const deleteRows = (teamId: string, ...tables: string[]) =>
    commit(control, function* () {
      for (const table of tables) yield statement(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  return {
    findCaller: (teamId, apiId, now) =>
      control.readKept<CallerRow, Caller>(FIND_CALLER, apiId, ([secretHash, endsAt, name, scope, ...tenant]) =>
        tenant[0] === teamId && isKeyValid(endsAt, now)
          ? { secretHash, key: { apiId, name, scope }, tenant: toTenant(tenant) }
          : undefined,
      ),
    newStore: (teamId) => ({ storeId: newStoreId(teamId) }),

    /** Creates the file before the row, because a row without a file means that the file was lost. */
    async insertTenant(storeId, insert) {
      makeFile(storeId);
      const isNew = await control.transaction(insert);
      if (isNew === false) await deleteFile(storeId);
      return isNew;
    },
    /** Deletes keys and users first, so that calls end at once, and the tenant last, so that a retry finds it. */
    async deleteTenant({ teamId, storeId }) {
      await deleteRows(teamId, 'API_KEYS', 'USERS');
      await deleteCounts(teamId);
      await deleteFile(storeId);
      await deleteRows(teamId, 'TENANTS');
    },
  };
}

export const newStoreId = (teamId: string): string => `${teamId}.${randomUUID().slice(0, 8)}`;

/** Moves the tenant's records to another file. */
export const replaceStore = ({ teamId, storeId }: Tenant, entry: AuditEntry): Writing<void> =>
  audited('', teamId, entry, function* () {
    yield updateRows('TENANTS', { storeId }, 'TEAM_ID = ?', teamId);
  });
