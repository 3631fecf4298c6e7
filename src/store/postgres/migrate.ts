/**
 * Migrates a database to the newest schema: the files of migrations/ in order, each with its number in one transaction,
 * while the node holds a lock. Migrations only add, so that older nodes keep working; released ones never change.
 */
import { listAssets, readAsset } from '../../assets.ts';
import { NewerStore, selectInstallation } from '../control/control.ts';
import { newVersion } from '../pims/row-sql.ts';
import type { Connection } from './connection/connection.ts';

/** The schema of the tables outside the tenants' inventory systems. */
export const CONTROL = 'storeroom';
/** Selects the version of the schema of the tenant with this STORE_ID. */
export const SCHEMA_VERSION = `SELECT "SCHEMA_VERSION" FROM ${CONTROL}."TENANTS" WHERE "STORE_ID" = ?`;
/** Selects a row if nothing must be created. Citus runs CREATE on all servers, one of which may be down. */
const IS_MADE = `SELECT 1 FROM pg_extension, pg_tables
  WHERE extname = 'pg_trgm' AND schemaname = '${CONTROL}' AND tablename = 'SCHEMA'`;
/** An advisory lock of the database. */
const MIGRATION_LOCK = 7_301_126;

const FOLDER = 'src/store/postgres/migrations/';
const loadMigrations = (kind: 'control' | 'pims'): string[] =>
  listAssets(FOLDER)
    .filter((name) => name.startsWith(`${FOLDER}${kind}-`))
    .map((name) => readAsset(name).toString());
let migrations: Record<'control' | 'pims', string[]> | undefined;
const migrationsOf = (kind: 'control' | 'pims'): string[] =>
  (migrations ??= { control: loadMigrations('control'), pims: loadMigrations('pims') })[kind];

/**
 * Applies the missing migrations. Returns the number of upgraded tenants; undefined if the store is new or had the
 * newest schema. Throws when the database is from a newer version, or the role lacks a privilege.
 */
export const migrate = (connection: Connection): Promise<number | undefined> =>
  lock(connection, async () => {
    if ((await connection.query(IS_MADE)).length === 0) {
      await connection.execute('CREATE EXTENSION IF NOT EXISTS pg_trgm');
      await connection.execute(`CREATE SCHEMA IF NOT EXISTS ${CONTROL}`);
      await connection.execute(`CREATE TABLE IF NOT EXISTS ${CONTROL}."SCHEMA" ("VERSION" INTEGER NOT NULL)`);
    }
    const found = await migrateControl(connection);
    const tenants = await migrateTenants(connection);
    return tenants > 0 || (found > 0 && found < CONTROL_VERSION()) ? tenants : undefined;
  });

/** Applies the migrations that one tenant lacks. */
export const migrateTenant = (connection: Connection, storeId: string): Promise<void> =>
  lock(connection, async () => {
    const [found] = await connection.query<[number]>(SCHEMA_VERSION, [storeId]);
    if (found) await raiseTenant(connection, storeId, found[0]);
  });

async function lock<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.execute(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  try {
    return await work();
  } finally {
    await connection.execute(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  }
}

/** Migrates the control schema and returns its version before. */
async function migrateControl(connection: Connection): Promise<number> {
  const [row] = await connection.query<[number]>(`SELECT "VERSION" FROM ${CONTROL}."SCHEMA"`);
  const found = row?.[0] ?? 0;
  await refuseNewer(connection, found, migrationsOf('control').length);
  for (const [index, script] of migrationsOf('control').entries())
    if (index >= found) {
      const keep = `DELETE FROM ${CONTROL}."SCHEMA"; INSERT INTO ${CONTROL}."SCHEMA" VALUES (${index + 1})`;
      await connection.runStatements(`BEGIN; SET LOCAL search_path TO ${CONTROL}; ${script}; ${keep}; COMMIT`);
    }
  return found;
}

/** Migrates the tenants' schemas and returns the number of those that were old. */
async function migrateTenants(connection: Connection): Promise<number> {
  const newest = migrationsOf('pims').length;
  const tenants = await connection.query<[string, number]>(
    `SELECT "STORE_ID", "SCHEMA_VERSION" FROM ${CONTROL}."TENANTS" WHERE "SCHEMA_VERSION" <> ? ORDER BY "STORE_ID"`,
    [newest],
  );
  for (const [storeId, version] of tenants) {
    await refuseNewer(connection, version, newest);
    await raiseTenant(connection, storeId, version);
  }
  return tenants.length;
}

async function raiseTenant(connection: Connection, storeId: string, version: number): Promise<void> {
  for (let next = version + 1; next <= PIMS_VERSION(); next++) {
    const keep = `UPDATE ${CONTROL}."TENANTS" SET "SCHEMA_VERSION" = ${next} WHERE "STORE_ID" = '${storeId}'`;
    await connection.runStatements(`BEGIN; ${buildTenantScript(storeId, next - 1)}; ${keep}; COMMIT`);
  }
}

/** Loads the scripts to run before and after a tenant's tables move to a worker. Without Citus they do nothing. */
const FOR_CITUS = (): string[] => ['before', 'after'].map((when) => readAsset(`${FOLDER}${when}-citus.sql`).toString());

/** Returns the newest version of the control schema. */
export const CONTROL_VERSION = (): number => migrationsOf('control').length;
/** Returns the newest version of a tenant's schema. */
export const PIMS_VERSION = (): number => migrationsOf('pims').length;
/** With Citus, the schema is on a worker, and its triggers write only there. Without it, the settings do nothing. */
const ON_A_WORKER = 'SET LOCAL citus.enable_schema_based_sharding TO on; SET LOCAL citus.enable_unsafe_triggers TO on';

/** Builds a script that creates a tenant's schema or migrates it to the next version, in the caller's transaction. */
export function buildTenantScript(storeId: string, from = 0): string {
  const scripts = migrationsOf('pims').slice(from, from ? from + 1 : undefined);
  if (from + scripts.length === PIMS_VERSION()) scripts.push(...FOR_CITUS());
  const script = runIn(storeId, scripts.join(';\n').replaceAll('$VERSION', newVersion()));
  return `${ON_A_WORKER}; ` + (from > 0 ? script : `CREATE SCHEMA "${storeId}"; ${createWhole(script)}`);
}

/** Adds columns when their table is created. Later, PostgreSQL would read the indexes of all tenants for each. */
const createWhole = (script: string): string =>
  script
    .matchAll(/ALTER TABLE ("\w+") ADD COLUMN ([^;]+);/g)
    .reduce(
      (rest, [added, table, column]) =>
        rest.replace(added, '').replace(new RegExp(`(CREATE TABLE ${table} [^;]*)\n`), `$1,\n${column}\n`),
      script,
    );

/** Builds a script that prepares a tenant's schema on the coordinator of Citus and places it on a worker. */
export const buildPlacingScript = (storeId: string): string =>
  `BEGIN; ${ON_A_WORKER}; ${runIn(storeId, FOR_CITUS().join(`; SELECT citus_schema_distribute('"${storeId}"'); `))}; COMMIT`;

/** Makes a script run in a tenant's schema. The search path also has the schema of pg_trgm, which can be any. */
const runIn = (storeId: string, script: string): string =>
  `SELECT set_config('search_path', '"${storeId}", ' || extnamespace::regnamespace, true)
    FROM pg_extension WHERE extname = 'pg_trgm'; ${script}; SET LOCAL search_path TO DEFAULT`;

async function refuseNewer(connection: Connection, found: number, known: number): Promise<void> {
  if (found <= known) return;
  // A database from before the table INSTALLATION has no version to report.
  const ask = connection.query<[string]>(selectInstallation(`${CONTROL}.`), ['version']);
  const [by] = await ask.catch((): [string][] => []);
  throw new NewerStore('The database', found, known, by?.[0]);
}
