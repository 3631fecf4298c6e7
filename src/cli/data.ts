/**
 * The data a command works on: the store of the settings, opened beside services that may be running, and a tenant's part of it.
 * Never makes a data folder unless the command is there to make one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig, type Config, type Environment } from '../config.ts';
import { Refusal } from '../errors.ts';
import type { PimsStore } from '../pims/port.ts';
import { openStore, type Store } from '../store/open.ts';
import { refuseUnfinishedFolder } from '../store/sqlite/move-tables.ts';
import type { Tenant } from '../tenant/port.ts';

interface TenantData {
  readonly store: Store;
  readonly tenant: Tenant;
  readonly pims: PimsStore;
}

const BUSY_TIMEOUT_MS = 5000;
const QUERY_BUDGET_MS = 60_000;

/** How a command opens a store: it waits for other processes, and its queries may take their time. */
export const commandUser = (onFatal: (fault: unknown) => void) => ({
  name: 'storeroom command',
  busyTimeoutMs: BUSY_TIMEOUT_MS,
  onFatal,
});
export const commandSettings = (config: Config): Config => ({
  ...config,
  queryBudgetMs: QUERY_BUDGET_MS,
  queryThreads: 1,
  databaseConnections: 1,
});

/** Opens the store, works with it, and closes it again whatever happens. Without `create` there has to be data already. */
export async function withStore<T>(
  environment: Environment,
  work: (store: Store) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const { config } = parseConfig(environment, {});
  if (!create && config.databaseUrl === '') checkFolder(config.data);
  let fatal: unknown;
  const store = await openStore(commandSettings(config), commandUser((fault) => void (fatal ??= fault))); // prettier-ignore
  try {
    return await work(store);
  } catch (fault) {
    throw fatal ?? fault;
  } finally {
    await store.close();
  }
}

/** Throws where there is no data of the embedded store, or only half of what a move brings. */
export function checkFolder(folder: string): void {
  refuseUnfinishedFolder(folder);
  if (!existsSync(join(folder, 'control.db')))
    throw new Refusal(
      'COMMAND_REFUSED',
      `There is no data in ${folder}. Is STOREROOM_DATA set as it is for the service?`,
    );
}

/** Opens the store and a tenant's inventory system in it. Throws TENANT_NOT_FOUND. */
export function withTenant<T>(
  environment: Environment,
  teamId: string,
  work: (data: TenantData) => Promise<T>,
): Promise<T> {
  return withStore(environment, async (store) => {
    const tenant = await findTenant(store, teamId);
    return work({ store, tenant, pims: store.pims(tenant) });
  });
}

export async function findTenant(store: Store, teamId: string): Promise<Tenant> {
  const tenant = await store.tenants.findTenant(teamId);
  if (!tenant)
    throw new Refusal(
      'TENANT_NOT_FOUND',
      `There is no tenant '${teamId}'. \`storeroom tenant list\` shows those there are.`,
    );
  return tenant;
}
