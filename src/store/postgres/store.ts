/**
 * The PostgreSQL store. Begin here: it opens the connections of a node, and refuses a server whose settings could lose
 * acknowledged writes. Source: decision 0020.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { Turns, type TakeTurn } from '../../tenant/turns.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { describeUpgrade } from '../control/control.ts';
import { makeControlStores } from '../control/stores.ts';
import type { PoolMeasures, StoreMeasures } from '../sql/measures.ts';
import { refuseUnfinished } from '../move/tables.ts';
import { ConnectionLost, reasonOf, type Connection, type ConnectionOptions } from './connection/connection.ts';
import { makeOwnTenants, makeOwnUsage, openControl } from './control-database.ts';
import { CONTROL, migrate, migrateTenant, PIMS_VERSION, SCHEMA_VERSION } from './migrate.ts';
import { hasCitus, makePlacement, makeWorkers } from './workers.ts';
import { openPimsStore } from './pims-store.ts';
import { makeNotices } from './connection/notices.ts';
import { makeOwnRequests } from './request-store.ts';
import { connectTo, type ConnectionKinds, type ServerConnections } from './connection/server-connections.ts';
import { makeServers, type Servers } from './connection/servers.ts';

export interface OpenPostgresOptions {
  /** The address of one or several servers. */
  readonly url: string;
  /**
   * The number of connections for each of reads by key, short queries, long queries and writes, to each server. Further
   * ones are for keys, counts, notices, availability, and queries of quiet tenants.
   */
  readonly connections: number;
  readonly queryBudgetMs: number;
  /** Maximum running queries of one tenant. */
  readonly queriesRunningMax: number;
  readonly queriesWaitingMax: number;
  /** The name in pg_stat_activity. */
  readonly name: string;
  /** Whether the store serves callers, and not a person at a command line. */
  readonly isService?: boolean;
  /** Called when a server is gone or back, and after an upgrade. */
  readonly report?: ((event: string, level?: 'info') => void) | undefined;
  /** Whether to refuse a database that Storeroom has never used. */
  readonly refusesEmpty?: boolean | undefined;
  /** The name of the database in messages, when it is opened for a move. Allows an unfinished move. */
  readonly movedAs?: string;
  readonly clock: Clock;
}

const OLDEST = 160_000;
/**
 * Limits of a statement, of a wait for a lock, and of silence. They ensure a response to every call within three
 * seconds.
 */
const STATEMENT_MS = 1200;
const LOCK_MS = 800;
/** Maximum time of a statement with short queries, on a connection for which other tenants wait. */
const SHORT_QUERY_MS = 100;
const SILENCE_MS = 1400;
/** PostgreSQL starts a process for each connection, which can take a second on a busy machine. */
const CONNECT_MS = 1400;
/** Time after which a transaction ends, with its locks, if its node has stopped. */
const IDLE_IN_TRANSACTION_MS = 2000;
/** Time limit of a statement that a command runs. Only one person waits for a command. */
const COMMAND_STATEMENT_MS = 30_000;
/** A command on a busy machine can pause between two statements. While it does, writes of its tenant are refused. */
const COMMAND_IDLE_MS = 10_000;
const LONG_WORK_SILENCE_MS = 600_000;
const LONG_WORK_CONNECT_MS = 10_000;
/** Maximum number of tenants whose statements a node keeps, a few kilobytes each. */
const OPEN_TENANTS_MAX = 10_000;
/** Selects a row while a move into the database is unfinished. */
export const READ_MOVE = `SELECT "SOURCE" FROM ${CONTROL}."MOVE"`;
interface PlacedTenant {
  readonly store: PimsStore;
  readonly server: ServerConnections;
}

const NEEDED = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

export type PostgresStore = ReturnType<typeof connectStore>;

/** Opens and migrates the store. Throws COMMAND_REFUSED if something is wrong with the address or the server. */
export async function openPostgres(options: OpenPostgresOptions): Promise<PostgresStore> {
  const { clock, report, movedAs } = options;
  const servers = makeServers(options.url);
  let store: PostgresStore | undefined;
  try {
    await using connection = await servers.findPrimary(listKinds(options).own);
    await checkServer(connection);
    if (options.refusesEmpty === true) await refuseEmpty(connection);
    const startedAt = clock.elapsed();
    const tenants = await migrate(connection);
    if (tenants !== undefined) report?.(describeUpgrade(tenants, clock.elapsed() - startedAt), 'info');
    store = connectStore(options, servers, await hasCitus(connection));
    // This shows the node in pg_stat_activity, where a move looks for it.
    await store.greet();
    if (movedAs === undefined && (await connection.query(READ_MOVE)).length > 0)
      throw refuseUnfinished('this database');
    return store;
  } catch (fault) {
    await store?.close();
    if (fault instanceof Refusal && !(fault instanceof ConnectionLost)) throw fault;
    const name = movedAs ?? 'The database of STOREROOM_DATABASE_URL';
    throw refuseCommand(
      `${name} cannot be used: ${reasonOf(fault)}. Check the address, and whether the server runs and accepts writes.`,
    );
  }
}

/** With Citus, the server plans some statements on tenants' schemas only for their values. */
function listKinds(
  { name, isService = false, queryBudgetMs, clock }: OpenPostgresOptions,
  isSharded = false,
): ConnectionKinds {
  const connectTimeoutMs = isService ? CONNECT_MS : LONG_WORK_CONNECT_MS;
  const kind = (session: ConnectionOptions['session'], silenceMs = SILENCE_MS): ConnectionOptions => ({
    name,
    session,
    silenceMs,
    clock,
    connectTimeoutMs,
  });
  const within = {
    statement_timeout: isService ? STATEMENT_MS : COMMAND_STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: isService ? IDLE_IN_TRANSACTION_MS : COMMAND_IDLE_MS,
    // Statements by key have one good plan. By default, the server would plan the first five for each tenant.
    plan_cache_mode: 'force_generic_plan',
  };
  const silenceMs = isService ? SILENCE_MS : COMMAND_STATEMENT_MS + LOCK_MS;
  return {
    control: kind(within, silenceMs),
    short: kind({ ...within, ...(isSharded && { plan_cache_mode: 'auto' }) }, silenceMs),
    walks: kind({
      statement_timeout: SHORT_QUERY_MS,
      default_transaction_read_only: 'on',
      plan_cache_mode: 'force_generic_plan',
      // The planner must walk indexes in the order of the keys, because collecting and sorting grow with the table.
      // The search index finds records in no order, so its results are sorted anyway.
      enable_sort: 'off',
      enable_seqscan: 'off',
    }),
    long: kind(
      {
        statement_timeout: queryBudgetMs,
        default_transaction_read_only: 'on',
        // A long query is parsed once and planned for its values.
        plan_cache_mode: 'force_custom_plan',
      },
      queryBudgetMs + LOCK_MS,
    ),
    own: { ...kind({}, LONG_WORK_SILENCE_MS), connectTimeoutMs: LONG_WORK_CONNECT_MS },
  };
}

function connectStore(options: OpenPostgresOptions, servers: Servers, isSharded: boolean) {
  const { connections, isService, queriesRunningMax, queriesWaitingMax, clock, report = () => undefined } = options;
  const kinds = listKinds(options, isSharded);
  const connect = (to: Servers, subject: string, onLost?: () => void) =>
    connectTo(to, { kinds, connections, subject, onLost, report, clock });
  /** The connections to the server with the control schema, which has the tenants too, unless Citus places them. */
  const main = connect(servers, 'The database', () => notices.restart());
  const { writers, queries, openOwn } = main;
  const reader = main.readers[0]!;
  const [keys, counts] = [main.share(), main.share()];
  const notices = makeNotices({ sender: counts, openConnection: openOwn, clock });
  // One further connection is for tenants without a running query.
  const bounds = { running: connections, tenantRunning: queriesRunningMax, tenantWaiting: queriesWaitingMax };
  const turns = new Turns(bounds, clock);
  const open = new Map<string, PlacedTenant>();
  const openTenant = makeOpenTenant(options, open, { main, turns, onCommit: notices.sendNotice });
  const workers =
    isSharded && isService === true
      ? makeWorkers({
          coordinator: main,
          connect: (address, confirm) => connect(makeServers(servers.urlAt(address), confirm), `The server ${address}`),
          listTenants: () => [...open.keys()],
          onPlaced: (storeId, server) => {
            // The tenant may have been dropped in the meantime.
            if (open.has(storeId)) openTenant(storeId, server, Promise.resolve());
          },
          report,
          clock,
        })
      : undefined;
  const endQueries = () => turns.close();
  const takeTurn: TakeTurn = ({ storeId }, signal, work) => turns.runInTurn(storeId, signal, work);
  return {
    ...makeControlStores(
      openControl(reader, writers),
      makeOwnTenants(keys, counts, openOwn, clock),
      makeOwnUsage(counts),
      makeOwnRequests(reader, writers, queries),
    ),
    placement: isSharded ? makePlacement(openOwn) : undefined,
    pims: ({ storeId }: Pick<Tenant, 'storeId'>): PimsStore => {
      const known = open.get(storeId);
      if (known) return known.store;
      // Drops the tenant opened first. Its statements are built again at the next call.
      if (open.size >= OPEN_TENANTS_MAX) open.delete(open.keys().next().value!);
      const ready = migrateNew(main, storeId);
      const store = openTenant(storeId, main, ready);
      void ready.then(
        () => workers?.place([storeId]),
        // The next call tries again.
        () => open.get(storeId)?.store === store && open.delete(storeId),
      );
      return store;
    },
    nextChange: ({ storeId }: Tenant, ended: AbortSignal): Promise<void> => notices.waitForNotice(storeId, ended),
    openTenants: () => open.keys(),
    takeTurn,
    measure(): StoreMeasures {
      const all = [main, ...(workers?.listConnected() ?? [])];
      const sumPools = (pool: 'writers' | 'queries'): PoolMeasures =>
        all
          .map((server) => server[pool].poolMeasures)
          .reduce((a, b) => ({ size: a.size + b.size, inUse: a.inUse + b.inUse, waiting: a.waiting + b.waiting }));
      return { queries: turns.measureTurns(), pools: { writes: sumPools('writers'), queries: sumPools('queries') } };
    },
    isUsable: main.isAvailable,
    endQueries,
    openOwn,
    greet: () => reader.askRows('SELECT 1', []),
    async close() {
      endQueries();
      await notices.close();
      await Promise.all([main.close(), workers?.close()]);
    },
  };
}

/** Makes the function that opens a tenant's inventory system on its server, unless it is open there. */
function makeOpenTenant(
  { queryBudgetMs, clock }: OpenPostgresOptions,
  open: Map<string, PlacedTenant>,
  own: { main: ServerConnections; turns: Turns; onCommit: (storeId: string) => void },
) {
  const { main, turns, onCommit } = own;
  return (storeId: string, server: ServerConnections, ready: Promise<unknown>): PimsStore => {
    const known = open.get(storeId);
    if (known?.server === server) return known.store;
    const { readers, pages, writers, queries, openOwn } = server;
    const place = createHash('sha256').update(storeId).digest().readUInt32LE();
    const store = openPimsStore(storeId, {
      reader: readers[place % readers.length]!,
      writers,
      schemaWriters: main.writers,
      // A tenant uses two connections, because each connection uses memory for every tenant that it serves.
      pages: [place, place + 1].map((at) => pages[at % pages.length]!),
      queries,
      turns,
      cancel: (pid) => readers[0]!.askRows('SELECT pg_cancel_backend(?::int)', [pid]),
      ready,
      openOwn: () => ready.then(openOwn),
      onCommit: () => onCommit(storeId),
      place,
      queryBudgetMs,
      clock,
    });
    open.set(storeId, { store, server });
    return store;
  };
}

/** Migrates a tenant that a node with the previous version may have created after this one started. */
async function migrateNew({ readers, openOwn }: ServerConnections, storeId: string): Promise<void> {
  const [found] = await readers[0]!.askRows<[number]>(SCHEMA_VERSION, [storeId]);
  if (!found || found[0] >= PIMS_VERSION()) return;
  await using connection = await openOwn();
  await migrateTenant(connection, storeId);
}

/** Throws COMMAND_REFUSED unless the server is new enough, commits durably and uses UTF-8. */
async function checkServer(connection: Connection): Promise<void> {
  const shown = ['server_version_num', 'server_version', 'server_encoding', ...NEEDED];
  const list = shown.map((setting) => `current_setting('${setting}')`).join(', ');
  const [[number, version, encoding, ...durable] = []] = await connection.query<string[]>(`SELECT ${list}`);
  if (Number(number) < OLDEST)
    throw refuseCommand(`The server runs PostgreSQL ${version}. Use version ${OLDEST / 10_000} or newer.`);
  const off = NEEDED[durable.indexOf('off')];
  if (off !== undefined)
    throw refuseCommand(`${off} is off in the database, so a crash can lose acknowledged writes. Set ${off} to on.`);
  if (encoding !== 'UTF8')
    throw refuseCommand(`The database has the encoding ${encoding}. Create one with ENCODING 'UTF8'.`);
}

/** Throws COMMAND_REFUSED if Storeroom has never used the database. Another program may have a schema of its name. */
export async function refuseEmpty(connection: Connection): Promise<void> {
  const [found] = await connection.query<[string | null]>(`SELECT to_regclass('${CONTROL}."SCHEMA"')::text`);
  if (found![0] === null)
    throw refuseCommand(
      'There is no data in the database of STOREROOM_DATABASE_URL. Set it to the database that the service uses. ' +
        'To create a new store, run `storeroom tenant create --create`.',
    );
}
