/**
 * Opens PostgreSQL for a check: one connection, which reads each part in a snapshot, and with Citus one to each
 * worker. It migrates nothing.
 */
import { BY_NUMBER } from '../pims/lines-of.ts';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import type { CheckedStore, Findings } from '../check/checked-store.ts';
import { refuseUnfinished } from '../move/tables.ts';
import { ConnectionLost, openConnection, reasonOf, sqlStateOf, type Connection } from './connection/connection.ts';
import { CONTROL, CONTROL_VERSION, PIMS_VERSION, refuseUnknown } from './migrate.ts';
import { hasCitus, listPlaces } from './workers.ts';
import { makeServers } from './connection/servers.ts';
import { READ_MOVE, refuseEmpty } from './store.ts';

const OPTIONS = {
  name: 'storeroom check',
  // Otherwise a worker of Citus hides the tables with the records. Without Citus, the setting has no effect.
  session: { 'citus.override_table_visibility': 'off' },
  silenceMs: 600_000,
  connectTimeoutMs: 10_000,
};
const OURS = `n.nspname = '${CONTROL}' OR n.nspname IN (SELECT "STORE_ID" FROM ${CONTROL}."TENANTS")`;
/** The same condition for a worker, which has no control schema. */
const OURS_ON_WORKER = `n.oid IN (SELECT schemaid FROM pg_dist_schema)`;
const listInvalid = (ours: string): string => `SELECT i.indexrelid::regclass::text FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT i.indisvalid AND (${ours})`;
const CHECKSUM_FAILURES = `SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()`;
/** SQLSTATEs of damaged data or indexes, faults of a disk, and missing schemas, tables, columns or functions. */
const DAMAGE = /^(XX00|58)|^(3F000|42P01|42703|42883)$/;

/** Throws COMMAND_REFUSED if the database cannot be used or does not have the newest schema. */
export async function openCheck(url: string, clock: Clock): Promise<CheckedStore> {
  let connection: Connection | undefined;
  try {
    const servers = makeServers(url);
    connection = await servers.findPrimary({ ...OPTIONS, clock });
    await checkVersion(connection);
    return readThrough(connection, (address) => openConnection({ ...OPTIONS, clock }, servers.urlAt(address)));
  } catch (fault) {
    // An open connection would keep the command from ending.
    await connection?.close();
    if (fault instanceof Refusal && !(fault instanceof ConnectionLost)) throw fault;
    throw refuseCommand(
      `The database of STOREROOM_DATABASE_URL cannot be used: ${reasonOf(fault)}. Check the address, and whether the server runs and accepts writes.`,
    );
  }
}

function readThrough(connection: Connection, connect: (address: string) => Promise<Connection>): CheckedStore {
  /** The stores of tenants whose server cannot be reached. */
  const unread = new Set<string>();
  return {
    async checkItself(findings) {
      await checkServer(connection, OURS, findings);
      if (!(await hasCitus(connection))) return;
      for (const [address, storeIds] of await listPlaces(connection)) {
        const opened = await connect(address).catch(reasonOf);
        if (typeof opened === 'string') {
          for (const storeId of storeIds) unread.add(storeId);
          const what = `its tenants (${storeIds.length}) were not checked, because it cannot be reached: ${opened}`;
          findings.addFinding(`server ${address}`, what, 'Start it, or promote its standby. Then check again.');
          continue;
        }
        await using server = opened;
        await checkServer(server, OURS_ON_WORKER, findings, `${address}: `);
      }
    },
    async readPart(part, work) {
      const isTenant = typeof part === 'object';
      if (isTenant && (unread.has(part.storeId) || !(await hasTenant(connection, part.storeId)))) return;
      await connection.execute('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      try {
        await work({
          schema: isTenant ? `"${part.storeId}".` : `${CONTROL}.`,
          linesOf: BY_NUMBER,
          readRows: (sql, ...values) => connection.query(sql, values),
          each: (sql, take) =>
            connection.queryEach(sql, [], (row: never) => {
              connection.hear();
              take(row);
            }),
        });
      } finally {
        await connection.execute('ROLLBACK').catch(() => undefined);
      }
    },
    damageOf,
    close: () => connection.close(),
  };
}

const damageOf = (fault: unknown): string | undefined =>
  DAMAGE.test(sqlStateOf(fault) ?? '') ? reasonOf(fault) : undefined;

/** Runs the server's own checks. `server` precedes the place of each finding. */
async function checkServer(connection: Connection, ours: string, findings: Findings, server = ''): Promise<void> {
  const [[failures] = [0]] = await connection.query<[number]>(CHECKSUM_FAILURES);
  if (failures > 0) findings.addDamage(`${server}database`, `PostgreSQL has counted ${failures} checksum failures`);
  for (const [index] of await connection.query<[string]>(listInvalid(ours)))
    findings.addDamage(server + index, 'the index is not valid', `REINDEX INDEX CONCURRENTLY ${index}`);
}

/** Returns whether a tenant has this STORE_ID. */
async function hasTenant(connection: Connection, storeId: string): Promise<boolean> {
  const sql = `SELECT 1 FROM ${CONTROL}."TENANTS" WHERE "STORE_ID" = ?`;
  return (await connection.query(sql, [storeId])).length > 0;
}

async function checkVersion(connection: Connection): Promise<void> {
  const first = async <T>(sql: string, ...values: number[]): Promise<T | undefined> =>
    (await connection.query<[T]>(sql, values))[0]?.[0];
  await refuseEmpty(connection);
  const control = (await first<number>(`SELECT "VERSION" FROM ${CONTROL}."SCHEMA"`)) ?? 0;
  await refuseUnknown(connection, control, 'control');
  const unlike = `SELECT "SCHEMA_VERSION" FROM ${CONTROL}."TENANTS" WHERE "SCHEMA_VERSION" <> ?`;
  const pims = await first<number>(unlike, PIMS_VERSION());
  if (pims !== undefined) await refuseUnknown(connection, pims, 'pims');
  if (control !== CONTROL_VERSION() || pims !== undefined)
    throw refuseCommand(
      'The database has the schema of an older version of Storeroom. Check it with that version, or start the service ' +
        'with this version, which upgrades it.',
    );
  if ((await first(READ_MOVE)) !== undefined) throw refuseUnfinished('this database');
}
