/** Checks a store with its own tools, beside the service: every file or index is whole, and no line lacks its order. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

export async function checkStore(place: string): Promise<void> {
  if (/^postgres(ql)?:/.test(place)) await checkDatabase(place);
  else checkFiles(place);
}

function checkFiles(folder: string): void {
  const tenants = globSync('tenants/*.db', { cwd: folder });
  for (const file of ['control.db', 'usage.db', ...tenants]) {
    const db = new DatabaseSync(join(folder, file), { readOnly: true, timeout: 5000 });
    assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' }, file);
    assert.deepEqual(db.prepare('PRAGMA foreign_key_check').all(), [], file);
    const orphans =
      'SELECT count(*) AS COUNT FROM ORDER_LINEITEMS WHERE ORDER_NUMBER NOT IN (SELECT ORDER_NUMBER FROM ORDERS)';
    if (tenants.includes(file)) assert.equal(db.prepare(orphans).get()!['COUNT'], 0, file);
    db.close();
  }
}

/** Builds the check of all indexes of Storeroom's schemas. Each of the two kinds of index has its own check. */
const buildIndexCheck = (ginCheck: string) => `
  SELECT n.nspname || '.' || i.relname AS name, a.amname AS kind,
    CASE a.amname WHEN 'btree' THEN bt_index_check(i.oid, true)::text WHEN 'gin' THEN ${ginCheck} END
  FROM pg_class i JOIN pg_namespace n ON n.oid = i.relnamespace
    JOIN pg_am a ON a.oid = i.relam JOIN pg_index x ON x.indexrelid = i.oid
  WHERE i.relkind = 'i' AND x.indisvalid AND (n.nspname = 'storeroom' OR n.nspname LIKE 'pims\\_%')`;
const CHECK_TABLES = `
  SELECT t.oid::regclass AS name, f.msg
  FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace, verify_heapam(t.oid) f
  WHERE t.relkind = 'r' AND (n.nspname = 'storeroom' OR n.nspname LIKE 'pims\\_%')`;
const SCHEMAS = `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pims\\_%'`;

/** With Citus, the tables of the tenants are on the workers. */
const WORKERS = `SELECT n.nodename, n.nodeport FROM pg_dist_node n WHERE n.shouldhaveshards`;

async function checkPages(client: Client): Promise<void> {
  // Only PostgreSQL 18 or newer can check GIN indexes.
  const { rows: checks } = await client.query("SELECT to_regprocedure('gin_index_check(regclass)') AS gin");
  const ginCheck = checks[0].gin === null ? "''" : 'gin_index_check(i.oid)::text';
  const { rows: indexes } = await client.query<{ kind: string }>(buildIndexCheck(ginCheck));
  assert.deepEqual(
    new Set(indexes.map(({ kind }) => kind)),
    new Set(['btree', 'gin']),
    'indexes of both kinds were looked at',
  );
  assert.deepEqual((await client.query(CHECK_TABLES)).rows, []);
}

/** Checks the tables and indexes of a database and its workers, and the lines of each tenant. */
async function checkDatabase(databaseUrl: string): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS amcheck'); // on the workers too
    await checkPages(client);
    const { rows: citus } = await client.query("SELECT FROM pg_extension WHERE extname = 'citus'");
    const workers =
      citus.length === 0 ? [] : (await client.query<{ nodename: string; nodeport: number }>(WORKERS)).rows;
    for (const { nodename, nodeport } of workers) {
      const url = new URL(databaseUrl);
      [url.hostname, url.port] = [nodename, String(nodeport)];
      const worker = new Client(url.href);
      await worker.connect();
      try {
        await checkPages(worker);
      } finally {
        await worker.end();
      }
    }
    const { rows: schemas } = await client.query<{ nspname: string }>(SCHEMAS);
    assert.ok(schemas.length > 0, 'there is no tenant');
    for (const { nspname } of schemas) {
      const orphans = `SELECT count(*)::int AS n FROM "${nspname}"."ORDER_LINEITEMS" l
        WHERE NOT EXISTS (SELECT FROM "${nspname}"."ORDERS" o WHERE o."ORDER_NUMBER" = l."ORDER_NUMBER")`;
      assert.equal((await client.query<{ n: number }>(orphans)).rows[0]!.n, 0, `${nspname} has lines without an order`);
    }
    const { rows: damage } = await client.query<{ n: number }>(
      'SELECT coalesce(sum(checksum_failures), 0)::int AS n FROM pg_stat_database',
    );
    assert.equal(damage[0]!.n, 0, 'a checksum of the database did not match');
  } finally {
    await client.end();
  }
}
