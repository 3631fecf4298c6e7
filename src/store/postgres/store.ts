/**
 * The PostgreSQL store. Begin here: it opens the connections of a node, and refuses a server whose settings could lose
 * acknowledged writes. Source: decision 0020.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import type { SessionStore, UserStore } from '../../account/account-port.ts';
import type { AuditStore } from '../../audit/audit.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { RequestStore } from '../../request-log/request-log-port.ts';
import { Turns, type TakeTurn } from '../../tenant/turns.ts';
import type { Placement, Tenant, TenantStore, UsageStore } from '../../tenant/tenant-port.ts';
import type { WebhookStore } from '../../webhooks/webhooks-port.ts';
import { makeAuditStore } from '../control/audit.ts';
import { describeUpgrade, loadCursorKey, makeInstallation, type Installation } from '../control/control.ts';
import { makeRequestStore, makeUsageStore } from '../control/calls.ts';
import { makeSessionStore, makeUserStore } from '../control/users.ts';
import { makeTenantStore } from '../control/tenants.ts';
import { makeWebhookStore } from '../control/webhooks.ts';
import type { PoolMeasures, StoreMeasures } from '../sql/measures.ts';
import { refuseUnfinished } from '../move/tables.ts';
import { ConnectionLost, reasonOf, type Connection, type ConnectionOptions } from './connection/connection.ts';
import { makeOwnTenants, makeOwnUsage, PostgresControl } from './control-database.ts';
import { CONTROL, migrate, migrateTenant, PIMS_VERSION, SCHEMA_VERSION } from './migrate.ts';
import { hasCitus, makePlacement, Workers } from './workers.ts';
import { PostgresPimsStore } from './pims-store.ts';
import { Notices } from './connection/notices.ts';
import { makeOwnRequests } from './request-store.ts';
import { ServerConnections, type ConnectionKinds } from './connection/server-connections.ts';
import { Servers } from './connection/servers.ts';

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
/** Selects the source of an unfinished move into the database. */
export const READ_MOVE = `SELECT "SOURCE" FROM ${CONTROL}."MOVE"`;
interface PlacedTenant {
  readonly store: PimsStore;
  readonly server: ServerConnections;
}

const NEEDED = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

export class PostgresStore {
  readonly #options: OpenPostgresOptions;
  readonly #servers: Servers;
  readonly #kinds: ConnectionKinds;
  /** The connections to the server with the control schema, which has the tenants too, unless Citus places them. */
  readonly #main: ServerConnections;
  #workers: Workers | undefined;
  readonly #control: PostgresControl;
  readonly #open = new Map<string, PlacedTenant>();
  readonly #notices: Notices;
  readonly #turns: Turns;
  /** Session settings of the connections for short statements on tenants' schemas. */
  readonly #within: Record<string, string | number>;
  readonly tenants: TenantStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  readonly webhooks: WebhookStore;
  readonly installation: Installation;
  placement: Placement | undefined;

  private constructor(options: OpenPostgresOptions) {
    this.#options = options;
    const { queriesRunningMax: tenantRunning, queriesWaitingMax: tenantWaiting } = options;
    // One further connection is for tenants without a running query.
    this.#turns = new Turns({ running: options.connections, tenantRunning, tenantWaiting }, options.clock);
    const within: Record<string, string | number> = {
      statement_timeout: STATEMENT_MS,
      lock_timeout: LOCK_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      // Statements by key have one good plan. By default, the server would plan the first five for each tenant.
      plan_cache_mode: 'force_generic_plan',
      ...(options.isService !== true && {
        statement_timeout: COMMAND_STATEMENT_MS,
        idle_in_transaction_session_timeout: COMMAND_IDLE_MS,
      }),
    };
    this.#within = { ...within };
    const silenceMs = options.isService === true ? SILENCE_MS : COMMAND_STATEMENT_MS + LOCK_MS;
    this.#kinds = {
      control: this.#optionsFor(within, silenceMs),
      short: this.#optionsFor(this.#within, silenceMs),
      walks: this.#optionsFor({
        statement_timeout: SHORT_QUERY_MS,
        default_transaction_read_only: 'on',
        plan_cache_mode: 'force_generic_plan',
        // The planner must walk indexes in the order of the keys, because collecting and sorting grow with the table.
        // The search index finds records in no order, so its results are sorted anyway.
        enable_sort: 'off',
        enable_seqscan: 'off',
      }),
      long: this.#optionsFor(
        {
          statement_timeout: options.queryBudgetMs,
          default_transaction_read_only: 'on',
          // A long query is parsed once and planned for its values.
          plan_cache_mode: 'force_custom_plan',
        },
        options.queryBudgetMs + LOCK_MS,
      ),
      own: { ...this.#optionsFor({}, LONG_WORK_SILENCE_MS), connectTimeoutMs: LONG_WORK_CONNECT_MS },
    };
    this.#servers = new Servers(options.url);
    const main = (this.#main = this.#connectTo(this.#servers, 'The database', () => this.#notices.restart()));
    const [keys, usage, [reader]] = [main.share(), main.share(), main.readers];
    this.#notices = new Notices({
      sender: usage,
      openConnection: () => this.openOwn(),
      clock: options.clock,
    });
    const control = (this.#control = new PostgresControl(reader!, main.writers));
    this.tenants = makeTenantStore(
      control,
      makeOwnTenants(keys, usage, () => this.openOwn(), options.clock),
    );
    this.users = makeUserStore(control);
    this.sessions = makeSessionStore(control);
    this.audit = makeAuditStore(control);
    this.webhooks = makeWebhookStore(control);
    this.installation = makeInstallation(control);
    this.usage = makeUsageStore(makeOwnUsage(usage));
    this.requests = makeRequestStore(makeOwnRequests(reader!, main.writers, main.queries));
  }

  /** Opens and migrates the store. Throws COMMAND_REFUSED if something is wrong with the address or the server. */
  static async open(options: OpenPostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await using connection = await store.#servers.findPrimary(store.#kinds.own);
      await checkServer(connection);
      if (options.refusesEmpty === true) await refuseEmpty(connection);
      if (await hasCitus(connection)) store.#useCitus();
      const startedAt = options.clock.elapsed();
      const tenants = await migrate(connection);
      if (tenants !== undefined)
        options.report?.(describeUpgrade(tenants, options.clock.elapsed() - startedAt), 'info');
      // This shows the node in pg_stat_activity, where a move looks for it.
      await store.#main.readers[0]!.askRows('SELECT 1', []);
      if (options.movedAs === undefined && (await connection.query(READ_MOVE)).length > 0)
        throw refuseUnfinished('this database');
      return store;
    } catch (fault) {
      await store.close();
      if (fault instanceof Refusal && !(fault instanceof ConnectionLost)) throw fault;
      const name = options.movedAs ?? 'The database of STOREROOM_DATABASE_URL';
      throw refuseCommand(
        `${name} cannot be used: ${reasonOf(fault)}. Check the address, and whether the server runs and accepts writes.`,
      );
    }
  }

  #useCitus(): void {
    // Citus plans some statements only for their values.
    this.#within['plan_cache_mode'] = 'auto';
    this.placement = makePlacement(() => this.openOwn());
    if (this.#options.isService !== true) return;
    this.#workers = new Workers({
      coordinator: this.#main,
      connect: (address, confirm) =>
        this.#connectTo(new Servers(this.#servers.urlAt(address), confirm), `The server ${address}`),
      listTenants: () => [...this.#open.keys()],
      onPlaced: (storeId, server) => {
        // The tenant may have been dropped in the meantime.
        if (this.#open.has(storeId)) this.#openTenant(storeId, server, Promise.resolve());
      },
      report: this.#options.report ?? (() => undefined),
      clock: this.#options.clock,
    });
  }

  pims({ storeId }: Pick<Tenant, 'storeId'>): PimsStore {
    const known = this.#open.get(storeId);
    if (known) return known.store;
    // Drops the tenant opened first. Its statements are built again at the next call.
    if (this.#open.size >= OPEN_TENANTS_MAX) this.#open.delete(this.#open.keys().next().value!);
    const ready = this.#migrateTenant(storeId);
    const store = this.#openTenant(storeId, this.#main, ready);
    void ready.then(
      () => this.#workers?.place([storeId]),
      // The next call tries again.
      () => this.#open.get(storeId)?.store === store && this.#open.delete(storeId),
    );
    return store;
  }

  #openTenant(storeId: string, server: ServerConnections, ready: Promise<unknown>): PimsStore {
    const known = this.#open.get(storeId);
    if (known?.server === server) return known.store;
    const { readers, pages, writers, queries } = server;
    const place = createHash('sha256').update(storeId).digest().readUInt32LE();
    const store = new PostgresPimsStore(storeId, {
      reader: readers[place % readers.length]!,
      writers,
      schemaWriters: this.#main.writers,
      // A tenant uses two connections, because each connection uses memory for every tenant that it serves.
      pages: [place, place + 1].map((at) => pages[at % pages.length]!),
      queries,
      turns: this.#turns,
      cancel: (pid) => readers[0]!.askRows('SELECT pg_cancel_backend(?::int)', [pid]),
      ready,
      openOwn: () => ready.then(() => server.openOwn()),
      onCommit: () => this.#notices.sendNotice(storeId),
      place,
      queryBudgetMs: this.#options.queryBudgetMs,
      clock: this.#options.clock,
    });
    this.#open.set(storeId, { store, server });
    return store;
  }

  nextChange({ storeId }: Tenant, ended: AbortSignal): Promise<void> {
    return this.#notices.waitForNotice(storeId, ended);
  }

  openTenants(): Iterable<string> {
    return this.#open.keys();
  }

  /** Migrates a tenant that a node with the previous version may have created after this one started. */
  async #migrateTenant(storeId: string): Promise<void> {
    const [found] = await this.#main.readers[0]!.askRows<[number]>(SCHEMA_VERSION, [storeId]);
    if (!found || found[0] >= PIMS_VERSION()) return;
    await using connection = await this.openOwn();
    await migrateTenant(connection, storeId);
  }

  readonly takeTurn: TakeTurn = ({ storeId }, signal, work) => this.#turns.runInTurn(storeId, signal, work);

  loadCursorKey(): Promise<Uint8Array> {
    return loadCursorKey(this.#control);
  }

  measure(): StoreMeasures {
    const servers = [this.#main, ...(this.#workers?.listConnected() ?? [])];
    const sumPools = (pool: 'writers' | 'queries'): PoolMeasures =>
      servers
        .map((server) => server[pool].poolMeasures)
        .reduce((a, b) => ({ size: a.size + b.size, inUse: a.inUse + b.inUse, waiting: a.waiting + b.waiting }));
    return {
      queries: this.#turns.measureTurns(),
      pools: { writes: sumPools('writers'), queries: sumPools('queries') },
    };
  }

  isUsable(): boolean {
    return this.#main.isAvailable;
  }

  endQueries(): void {
    this.#turns.close();
  }

  async close(): Promise<void> {
    this.endQueries();
    await this.#notices.close();
    await Promise.all([this.#main.close(), this.#workers?.close()]);
  }

  /** Opens an unshared connection without time limits, for long work. */
  openOwn(): Promise<Connection> {
    return this.#main.openOwn();
  }

  #connectTo(servers: Servers, subject: string, onLost?: () => void): ServerConnections {
    const { connections, clock, report = () => undefined } = this.#options;
    return new ServerConnections(servers, { kinds: this.#kinds, connections, subject, onLost, report, clock });
  }

  #optionsFor(session: ConnectionOptions['session'], silenceMs = SILENCE_MS): ConnectionOptions {
    const { name, isService = false, clock } = this.#options;
    return { name, session, silenceMs, clock, connectTimeoutMs: isService ? CONNECT_MS : LONG_WORK_CONNECT_MS };
  }
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
