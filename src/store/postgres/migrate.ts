/**
 * Creates the schemas of a database or migrates them to the newest: the scripts of migrations/ in order, each with its
 * number in one transaction, while the node holds a lock. Migrations only add, so that older nodes keep working.
 */
import { readAsset } from '../../assets.ts';
import { selectInstallation } from '../control/control.ts';
import { loadSchema, type SchemaScripts } from '../sql/schema.ts';
import type { Connection } from './connection/connection.ts';
import { FIELD_TYPE, INDEXED_CHARACTERS } from './reads/pims-sql.ts';

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
/** Texts are sorted by their bytes. A page that is not full has room for new versions of its rows. */
const TYPES = {
  FIELD: FIELD_TYPE,
  INDEXED: `left("$&", ${INDEXED_CHARACTERS})`,
  TEXT: 'TEXT COLLATE "C"',
  INTEGER: 'BIGINT',
  BLOB: 'BYTEA',
  REAL: 'DOUBLE PRECISION',
  $RECORD: '"SORT_KEY" TEXT COLLATE "C" PRIMARY KEY, search TEXT COLLATE "C" NOT NULL, folded JSONB',
  $RECORDS: 'WITH (fillfactor = 85)',
  $TABLE: '',
  $ROWS: '',
  $HOT: 'WITH (fillfactor = 50)',
};
let schemas: Record<'control' | 'pims', SchemaScripts> | undefined;
const schemaOf = (kind: 'control' | 'pims'): SchemaScripts =>
  (schemas ??= { control: loadSchema(FOLDER, 'control', TYPES), pims: loadSchema(FOLDER, 'pims', TYPES) })[kind];

/**
 * Applies the missing migrations. Returns the number of upgraded tenants; undefined if the store is new or had the
 * newest schema. Throws when the database has an unknown schema, or the role lacks a privilege.
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
  await refuseUnknown(connection, found, 'control');
  for (const [number, script] of schemaOf('control').scriptsAfter(found)) {
    const keep = `DELETE FROM ${CONTROL}."SCHEMA"; INSERT INTO ${CONTROL}."SCHEMA" VALUES (${number})`;
    await connection.runStatements(`BEGIN; SET LOCAL search_path TO ${CONTROL}; ${script}; ${keep}; COMMIT`);
  }
  return found;
}

/** Migrates the tenants' schemas and returns the number of those that were old. */
async function migrateTenants(connection: Connection): Promise<number> {
  const tenants = await connection.query<[string, number]>(
    `SELECT "STORE_ID", "SCHEMA_VERSION" FROM ${CONTROL}."TENANTS" WHERE "SCHEMA_VERSION" <> ? ORDER BY "STORE_ID"`,
    [PIMS_VERSION()],
  );
  for (const [storeId, version] of tenants) {
    await refuseUnknown(connection, version, 'pims');
    await raiseTenant(connection, storeId, version);
  }
  return tenants.length;
}

async function raiseTenant(connection: Connection, storeId: string, version: number): Promise<void> {
  for (const [number, script] of schemaOf('pims').scriptsAfter(version)) {
    const keep = `UPDATE ${CONTROL}."TENANTS" SET "SCHEMA_VERSION" = ${number} WHERE "STORE_ID" = '${storeId}'`;
    await connection.runStatements(`BEGIN; ${ON_A_WORKER}; ${runIn(storeId, script)}; ${keep}; COMMIT`);
  }
}

/** Loads the scripts to run before and after a tenant's tables move to a worker. Without Citus they do nothing. */
const FOR_CITUS = (): string[] => ['before', 'after'].map((when) => readAsset(`${FOLDER}${when}-citus.sql`).toString());

/** Returns the newest version of the control schema. */
export const CONTROL_VERSION = (): number => schemaOf('control').newest;
/** Returns the newest version of a tenant's schema. */
export const PIMS_VERSION = (): number => schemaOf('pims').newest;
/** With Citus, the schema is on a worker, and its triggers write only there. Without it, the settings do nothing. */
const ON_A_WORKER = 'SET LOCAL citus.enable_schema_based_sharding TO on; SET LOCAL citus.enable_unsafe_triggers TO on';

/** Builds a script that creates a tenant's schema, in the caller's transaction. */
export const buildTenantScript = (storeId: string): string => {
  const scripts = schemaOf('pims')
    .scriptsAfter(0)
    .map(([, script]) => script);
  return `${ON_A_WORKER}; CREATE SCHEMA "${storeId}"; ${runIn(storeId, [...scripts, ...FOR_CITUS()].join(';\n'))}`;
};

/** Builds a script that prepares a tenant's schema on the coordinator of Citus and places it on a worker. */
export const buildPlacingScript = (storeId: string): string =>
  `BEGIN; ${ON_A_WORKER}; ${runIn(storeId, FOR_CITUS().join(`; SELECT citus_schema_distribute('"${storeId}"'); `))}; COMMIT`;

/** Makes a script run in a tenant's schema. The search path also has the schema of pg_trgm, which can be any. */
const runIn = (storeId: string, script: string): string =>
  `SELECT set_config('search_path', '"${storeId}", ' || extnamespace::regnamespace, true)
    FROM pg_extension WHERE extname = 'pg_trgm'; ${script}; SET LOCAL search_path TO DEFAULT`;

/** Throws COMMAND_REFUSED if this program has no scripts for a schema with this number. */
export async function refuseUnknown(connection: Connection, found: number, kind: 'control' | 'pims'): Promise<void> {
  const schema = schemaOf(kind);
  if (schema.knows(found)) return;
  // A database from before the table INSTALLATION has no version to report.
  const ask = connection.query<[string]>(selectInstallation(`${CONTROL}.`), ['version']);
  const [by] = await ask.catch((): [string][] => []);
  throw schema.refuseSchema('The database', found, by?.[0]);
}
