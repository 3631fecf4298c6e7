/**
 * Brings a database to the newest schema: the numbered files of migrations/ in order, first for what is beside the tenants, then for every tenant's
 * schema. Each step is a transaction of its own that leaves its number behind, under a lock that lets one node at a time do it. A migration only ever
 * adds, so that nodes of the version before can go on. Never changes one that has been released.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Connection } from './connection.ts';

/** Everything that is not a tenant's own lies in this schema. */
export const CONTROL = 'storeroom';
/** Names the lock among all advisory locks of the database. */
const MIGRATION_LOCK = 7_301_126;

const folder = new URL('migrations/', import.meta.url);
const readScripts = (kind: 'control' | 'pims'): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}-`))
    .toSorted()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
let scripts: Record<'control' | 'pims', string[]> | undefined;
const scriptsOf = (kind: 'control' | 'pims'): string[] =>
  (scripts ??= { control: readScripts('control'), pims: readScripts('pims') })[kind];

/** Applies what is missing. Throws when the database was written by a newer version, or the role may not make what is missing. */
export async function migrate(connection: Connection): Promise<void> {
  await connection.execute(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  try {
    await connection.execute('CREATE EXTENSION IF NOT EXISTS pg_trgm');
    await connection.execute(
      `CREATE SCHEMA IF NOT EXISTS ${CONTROL}; CREATE TABLE IF NOT EXISTS ${CONTROL}."SCHEMA" ("VERSION" INTEGER NOT NULL)`,
    );
    await migrateControl(connection);
    await migrateTenants(connection);
  } finally {
    await connection.execute(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  }
}

async function migrateControl(connection: Connection): Promise<void> {
  const [row] = await connection.queryOnce<[number]>(`SELECT "VERSION" FROM ${CONTROL}."SCHEMA"`);
  const found = row?.[0] ?? 0;
  refuseNewer(found, scriptsOf('control').length);
  for (const [index, script] of scriptsOf('control').entries())
    if (index >= found) {
      const keep = `DELETE FROM ${CONTROL}."SCHEMA"; INSERT INTO ${CONTROL}."SCHEMA" VALUES (${index + 1})`;
      await connection.execute(`BEGIN; SET LOCAL search_path TO ${CONTROL}; ${script}; ${keep}; COMMIT`);
    }
}

async function migrateTenants(connection: Connection): Promise<void> {
  const newest = scriptsOf('pims').length;
  const tenants = await connection.queryOnce<[string, number]>(
    `SELECT "STORE_ID", "SCHEMA_VERSION" FROM ${CONTROL}."TENANTS" WHERE "SCHEMA_VERSION" <> ? ORDER BY "STORE_ID"`,
    [newest],
  );
  for (const [storeId, version] of tenants) {
    refuseNewer(version, newest);
    for (let next = version + 1; next <= newest; next++) {
      const keep = `UPDATE ${CONTROL}."TENANTS" SET "SCHEMA_VERSION" = ${next} WHERE "STORE_ID" = '${storeId}'`;
      await connection.execute(`BEGIN; ${buildTenantScript(storeId, next - 1)}; ${keep}; COMMIT`);
    }
  }
}

/** The statements that make a tenant's schema, or take it on from a version, for a transaction its caller holds; and the version it then has. */
export const PIMS_VERSION = (): number => scriptsOf('pims').length;
export function buildTenantScript(storeId: string, from = 0): string {
  const create = from === 0 ? `CREATE SCHEMA "${storeId}"; ` : '';
  // The operators of pg_trgm are wherever the extension was put.
  const path = `SELECT set_config('search_path', '"${storeId}", ' || extnamespace::regnamespace, true) FROM pg_extension WHERE extname = 'pg_trgm'`;
  return `${create}${path}; ${scriptsOf('pims')
    .slice(from, from === 0 ? undefined : from + 1)
    .join(';\n')}; SET LOCAL search_path TO DEFAULT`;
}

function refuseNewer(found: number, known: number): void {
  if (found > known)
    throw new Error(
      `The database was written by a newer version of Storeroom (schema ${found}, this one knows ${known}).`,
    );
}
