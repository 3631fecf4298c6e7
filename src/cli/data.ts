/**
 * The data a command works on: the embedded store in STOREROOM_DATA, opened beside a service that may be running, and a tenant's part of it.
 * Never makes a data folder unless the command is there to make one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, type Environment } from '../config.ts';
import { Refusal } from '../errors.ts';
import type { PimsStore } from '../pims/store.ts';
import { SqliteStore } from '../store/sqlite/open-sqlite.ts';
import type { Tenant } from '../tenant/store.ts';

interface TenantData {
  readonly store: SqliteStore;
  readonly tenant: Tenant;
  readonly pims: PimsStore;
}

const BUSY_TIMEOUT_MS = 5000;
const QUERY_BUDGET_MS = 60_000;

/** Opens the store, works with it, and closes it again whatever happens. Without `create` there has to be data already. */
export async function withStore<T>(environment: Environment, work: (store: SqliteStore) => Promise<T>, { create = false } = {}): Promise<T> {
  const folder = readConfig(environment, {}).config.data;
  if (!create && !existsSync(join(folder, 'control.db')))
    throw new Refusal('COMMAND_REFUSED', `There is no data in ${folder}. Is STOREROOM_DATA set as it is for the service?`);
  let fatal: unknown;
  const onFatal = (fault: unknown): void => void (fatal ??= fault);
  const store = new SqliteStore({ folder, busyTimeoutMs: BUSY_TIMEOUT_MS, queryBudgetMs: QUERY_BUDGET_MS, workers: 1, onFatal });
  try {
    return await work(store);
  } catch (fault) {
    throw fatal ?? fault;
  } finally {
    await store.close();
  }
}

/** Opens the store and a tenant's inventory system in it. Throws TENANT_NOT_FOUND. */
export function withTenant<T>(environment: Environment, teamId: string, work: (data: TenantData) => Promise<T>): Promise<T> {
  return withStore(environment, async (store) => {
    const tenant = await findTenant(store, teamId);
    return work({ store, tenant, pims: store.pims(tenant) });
  });
}

export async function findTenant(store: SqliteStore, teamId: string): Promise<Tenant> {
  const tenant = await store.tenants.findTenant(teamId);
  if (!tenant) throw new Refusal('TENANT_NOT_FOUND', `There is no tenant '${teamId}'. \`storeroom tenant list\` shows those there are.`);
  return tenant;
}
