/**
 * Opens the store of the settings for one command, even while services are running, and closes it afterwards. Adds the
 * commands about one tenant, which their first argument names.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hidePassword, parseConfig, SETTINGS, type Config, type Environment } from '../config.ts';
import { Refusal, refuseCommand } from '../errors.ts';
import type { PimsStore } from '../pims/pims-port.ts';
import { openStore, type openEmbedded, type Store, type StorePlace } from '../store/open-store.ts';
import { hasBackups } from '../store/sqlite/backup/backup.ts';
import { refuseLostFiles, refuseUnfinishedRestore } from '../store/sqlite/files/folder.ts';
import { refuseUnfinishedFolder } from '../store/sqlite/move-store.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { printable, type CommandContext } from './command.ts';
import { findFault, formatOrigin } from './service-address.ts';

export type EmbeddedStore = ReturnType<typeof openEmbedded>;

/** A command waits for other processes, and its queries may take long. */
const BUSY_TIMEOUT_MS = 5000;
const QUERY_BUDGET_MS = 60_000;

/**
 * Opens the store that the settings name, runs `work` with it, and closes it. The store must exist, unless `create` is
 * set. A fatal fault of the store is thrown rather than its consequences.
 */
export async function withStore<T>(
  context: CommandContext,
  work: (store: Store) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const { clock, asJson, environment } = context;
  const config = create ? parseConfig(environment).config : parseStoreConfig(context);
  let fatal: unknown;
  const faults: string[] = [];
  const store = await openStore(
    { ...config, queryBudgetMs: QUERY_BUDGET_MS, queryThreads: 1, databaseConnections: 1 },
    {
      name: 'storeroom command',
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      onFatal: (fault) => void (fatal ??= fault),
      report: (event, level) => void (level === 'error' ? faults.push(event) : print(event)),
      clock,
      refusesEmpty: !create,
    },
  );
  try {
    if (!asJson) await describePlace(config, store);
    const result = await work(store);
    for (const event of faults) print(event);
    return result;
  } catch (fault) {
    // A caller of the API does not learn which file is damaged, but the operator does.
    const isApart = fault instanceof Refusal && fault.code === 'TENANT_UNAVAILABLE';
    throw fatal ?? (isApart && faults[0] !== undefined ? new Refusal(fault.code, faults[0]) : fault);
  } finally {
    await store.close();
  }
}

/**
 * Prints the store of a command. Otherwise a mistyped setting is noticed only when the service rejects the new keys.
 */
export const printStore = (place: StorePlace): void => print(`Store: ${describeStore(place)}`);

export const describeStore = ({ data, databaseUrl }: StorePlace): string =>
  databaseUrl === '' ? `${resolve(data)} (SQLite)` : `${hidePassword(databaseUrl)} (PostgreSQL)`;

/**
 * Prints the store, and warns if a running service uses another one. A service saves its address in its store, so it
 * does not use a store without an address.
 */
async function describePlace(config: Config, { installation }: Store) {
  printStore(config);
  if ((await installation.loadInstalled('origin')) !== undefined) return;
  const origin = formatOrigin(config.host, config.port);
  if ((await findFault(`${origin}/healthz`)) === undefined)
    print(`The service at ${origin} does not use this store. Check STOREROOM_DATA and STOREROOM_DATABASE_URL.`);
}

const print = (event: string) => void process.stderr.write(`${printable(event)}\n`);

/** Opens the store and a tenant's inventory system in it. Throws TENANT_NOT_FOUND. */
export const withTenant = <T>(
  context: CommandContext,
  teamId: string,
  work: (pims: PimsStore, store: Store) => Promise<T>,
): Promise<T> => withStore(context, async (store) => work(store.pims(await findTenant(store, teamId)), store));

/** Returns the tenant. Throws TENANT_NOT_FOUND. */
export async function findTenant(store: Store, teamId: string): Promise<Tenant> {
  const tenant = await store.tenants.findTenant(teamId);
  if (tenant) return tenant;
  throw new Refusal('TENANT_NOT_FOUND', `There is no tenant '${teamId}'. \`storeroom tenant list\` shows all tenants.`);
}

/** Returns the settings. Throws COMMAND_REFUSED if their embedded store does not exist. */
export function parseStoreConfig({ environment }: CommandContext): Config {
  const { config } = parseConfig(environment);
  if (config.databaseUrl === '') checkFolder(config.data);
  return config;
}

const BACK_UP =
  'This command is only for the embedded store. Back up and restore PostgreSQL with its own tools (pg_basebackup, ' +
  'pg_dump): docs/several-nodes/backup.md shows how.';

/** Returns the settings. Throws COMMAND_REFUSED with `instead` if the store is PostgreSQL. */
export function parseEmbeddedConfig(environment: Environment, instead = BACK_UP): Config {
  const { config } = parseConfig(environment);
  if (config.databaseUrl === '') return config;
  throw refuseCommand(instead);
}

/**
 * Throws COMMAND_REFUSED if the folder has no data of the embedded store, has lost files, or has an unfinished move or
 * restore.
 */
export function checkFolder(folder: string): void {
  refuseUnfinishedFolder(folder);
  refuseUnfinishedRestore(folder);
  refuseLostFiles(folder);
  // Unlike existsSync, throws if this user may not look into the folder.
  if (statSync(join(folder, 'control.db'), { throwIfNoEntry: false })) return;
  throw refuseCommand(
    `There is no data in ${resolve(folder)}. Set STOREROOM_DATA to the folder that the service uses. If a store was ` +
      'there, move it back, or run `storeroom restore`. To create a new one, run `storeroom tenant create --create`.',
  );
}

/** Returns whether a store may be created without `--create`. Backups show that there was a store before. */
export const mayCreate = ({ create, backupDir }: Config): boolean =>
  create === 'always' || (create === 'on' && !hasBackups(backupDir));

/** Returns whether STOREROOM_DATA is set to an existing, empty folder, in which a store may be created. */
export function isGivenEmpty(environment: Environment): boolean {
  const folder = environment[SETTINGS.data.variable];
  const found = folder === undefined ? undefined : statSync(folder, { throwIfNoEntry: false });
  const isEmpty = found?.isDirectory() === true && readdirSync(folder!).length === 0;
  return isEmpty && mayCreate(parseConfig(environment).config);
}

/**
 * Throws COMMAND_REFUSED if root runs a command on another user's data, because the service could not use the files
 * that root would create.
 */
export function refuseOtherOwner(environment: Environment): void {
  const { data, databaseUrl } = SETTINGS;
  const folder = environment[data.variable] || data.default;
  const uid = environment[databaseUrl.variable] || !existsSync(folder) ? 0 : statSync(folder).uid;
  if (process.getuid?.() !== 0 || uid === 0) return;
  const remedy = `Run it as that user, with \`sudo -u '#${uid}' …\`, or under systemd with \`storeroom service run -- …\`.`;
  throw refuseCommand(`${data.variable} is '${folder}', which belongs to the user with the ID ${uid}. ${remedy}`);
}
