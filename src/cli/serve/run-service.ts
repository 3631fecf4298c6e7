/**
 * Begin here. Runs the service as a process and connects adapters with ports. It opens the store and listens. To stop,
 * it becomes unready, closes the listener, sends the last responses, and saves counts and logs.
 */
import { Server, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { endedSessions } from '../../account/accounts.ts';
import { makeAttempts } from '../../account/attempts.ts';
import { VERSION } from '../../assets.ts';
import { DAY_MS, every, formatTime, HOUR_MS, MINUTE_MS, type Clock } from '../../clock.ts';
import type { Config, Environment } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { deleteOldChanges } from '../../pims/changes.ts';
import { buildApp } from '../../http/app.ts';
import type { ServiceState } from '../../http/server/receive.ts';
import type { Store } from '../../store/open-store.ts';
import { openServedStore } from '../../store/open-store.ts';
import { Meter } from '../../tenant/calls.ts';
import { hideSecretsInJson } from '../../tenant/secrets.ts';
import type { Tenant, TenantStore } from '../../tenant/tenant-port.ts';
import { WebhookSender } from '../../webhooks/sender.ts';
import { RequestLog } from '../../request-log/request-log.ts';
import { timeOf, type CommandContext } from '../command.ts';
import { checkFolder, mayCreate } from '../open-store.ts';
import { finishDemo, makeFirstDemo } from './demo-tenant.ts';
import { describeExposure, findOrigin, listen } from '../service-address.ts';
import { printReady } from './print-ready.ts';
import { isJournal, notifySystemd, priorityOf } from './systemd-unit.ts';

const IN_FLIGHT_WAIT_MS = 10_000;
/** Time for long queries to finish when the service stops. */
const QUERIES_WAIT_MS = 1000;
/** Time for sending the last responses before a fatal fault of the store stops the process. */
const FATAL_EXIT_MS = 200;

const NO_BACKUPS =
  'STOREROOM_BACKUP_DIR is for the embedded store. Unset it, and back up PostgreSQL with its own tools (pg_basebackup, ' +
  'an archive of its log): docs/several-nodes/backup.md shows how.';

/** Listens, and runs until SIGTERM or SIGINT. Throws when another service uses the folder or the port. */
export async function runService(
  config: Config,
  { asJson, environment, clock }: CommandContext,
  isTraced: boolean,
): Promise<void> {
  const log = openLog(config.logLevel, environment);
  const onFatal = (fault: unknown) => {
    log.fatal({ err: fault }, 'The store can no longer be trusted, so the service stops. A restart reads it again.');
    // A service that is already stopping also exits with 1, so that the stop does not look successful.
    void clock.sleep(FATAL_EXIT_MS).then(() => process.exit(1));
  };
  const report = (event: string, level: 'info' | 'warn' | 'error' = 'warn') => log[level](event);
  const user = { name: 'storeroom serve', busyTimeoutMs: 0, onFatal, report, clock };
  refuseConfig(config);
  const served = await openServedStore(config, { ...user, refusesEmpty: !mayCreate(config) });
  const { store, isAlone } = served;
  try {
    served.lock();
    const demo = isAlone && config.demo === 'on' && (await makeFirstDemo(store, config.data, timeOf(clock)));
    const { disk, backups } = await served.startUpkeep();
    const isUsable = () => store.isUsable();
    const meter = new Meter(store.usage, { clock, report, isUsable, isCountFirst: isAlone });
    const attempts = makeAttempts(clock);
    const requestLog = new RequestLog(store.requests, { ...config, clock, hasDisk: () => disk?.isLow !== true });
    const state: ServiceState = {
      isUsable,
      isDiskUnfit: () => disk?.isUnfit === true,
      isCounting: () => meter.isCounting,
      stopping: false,
      ending: new AbortController(),
      inFlight: 0,
    };
    const pims = (tenant: Tenant) => served.pims(tenant);
    const { tenants, users, sessions, audit, usage, requests, webhooks } = store;
    const feed = { clock, pims, nextChange: (tenant: Tenant, ended: AbortSignal) => store.nextChange(tenant, ended) };
    const isPrivateAllowed = config.webhookPrivate === 'on';
    const stores = { tenants, users, sessions, audit, usage, requests, webhooks };
    const ofActions = { ...feed, ...stores, isPrivateAllowed };
    const sender = new WebhookSender({ ...ofActions, report, isAlone });
    const services = { ...ofActions, meter, attempts, requestLog };
    const app = await buildApp({
      ...config,
      ...services,
      takeTurn: store.takeTurn,
      backUp: backups && (() => backups.makeNow()),
      cursorKey: await store.loadCursorKey(),
      idempotencyMs: config.idempotencyHours * HOUR_MS,
      state,
      log,
      logRequests: log.isLevelEnabled('debug'),
      metrics: config.metrics === 'on',
      tracing: isTraced ? served.system : undefined,
      measure: () => ({ store: store.measure(), disk, backup: backups?.reading, webhooks: sender.measureDeliveries() }),
    });
    await listen(app, config);
    const { port } = app.server.address() as AddressInfo;
    await saveAddress(store, config, port, log);
    stopOnSignal(state, log, async () => {
      await sender.close();
      await clock.sleep(config.drainMs);
      state.ending.abort();
      clock.after(QUERIES_WAIT_MS, () => store.endQueries());
      await closeApp(app, state, clock);
      await backups?.close();
      for (const part of [meter, requestLog]) await part.settled();
      await store.close();
      return requestLog.waiting;
    });
    printReady(config, port, { demo: demo || undefined, isEmpty: !(await tenants.hasTenants()), asJson });
    await reportReady(config, environment, log, tenants);
    if (demo) finishDemo(config.data);
    deleteEveryHour([requestLog, endedSessions(sessions), sender, oldChanges(store, config)], log, clock);
    sender.startSending();
    void served.upgradeTenants().catch(onFatal);
  } catch (fault) {
    await store.close();
    throw fault;
  }
}

async function reportReady(config: Config, environment: Environment, log: pino.Logger, tenants: TenantStore) {
  notifySystemd(environment, (fault) =>
    log.warn({ err: fault }, 'Could not report to systemd that the service is ready.'),
  );
  const warning = describeExposure(config);
  if (warning !== undefined) log.warn(warning);
  const { operatorTeam } = config;
  if (operatorTeam && !(await tenants.findTenant(operatorTeam)))
    log.warn(`No team has the ID '${operatorTeam}' of STOREROOM_OPERATOR_TEAM, so no one sees the page Operate.`);
}

/** Throws if a setting does not fit the store, or a store has to exist and does not. */
function refuseConfig(config: Config): void {
  if (config.databaseUrl === '') {
    if (!mayCreate(config)) checkFolder(config.data);
  } else if (config.backupDir !== '') throw new Refusal('WRONG_SETTING', NO_BACKUPS);
}

/** Opens the log on standard error: standard output has the ready line. A slow reader never stops the service. */
function openLog(level: string, environment: Environment): pino.Logger {
  const priority = isJournal(environment) ? priorityOf : (): string => '';
  const hooks = { streamWrite: (line: string) => priority(line) + hideSecretsInJson(line) };
  return pino({ level, hooks }, pino.destination({ fd: 2, sync: false }));
}

/** Saves the address for commands. Only logs a fault: the service also runs with a full disk or a lost database. */
async function saveAddress({ installation }: Store, config: Config, port: number, log: pino.Logger) {
  await installation
    .saveInstalled({ version: VERSION, origin: findOrigin(config, port), webhookPrivate: config.webhookPrivate })
    .catch((fault: unknown) => log.warn({ err: fault }, 'The address was not saved. Commands may print an old one.'));
}

/**
 * Stops at the first signal and ignores the others, because npm sends a second one on Ctrl-C. `close` returns how many
 * log lines were not saved.
 */
function stopOnSignal(state: ServiceState, log: pino.Logger, close: () => Promise<number>) {
  const stop = async (signal: string) => {
    if (state.stopping) return;
    state.stopping = true;
    log.info({ signal, inFlight: state.inFlight }, 'Stopping');
    const unsaved = await close();
    if (unsaved === 0) log.info('Stopped: counts and logs are on disk');
    else log.warn({ unsaved }, `Stopped: counts are on disk, ${unsaved} lines of the request log are not`);
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** Closes the listener. Closes the connections when the calls in flight are answered or their time is up. */
async function closeApp(app: FastifyInstance, state: ServiceState, clock: Clock) {
  // http.Server's close would reset idle connections. net.Server's close lets each of them send one more request.
  Server.prototype.close.call(app.server);
  const giveUpAt = clock.elapsed() + IN_FLIGHT_WAIT_MS;
  while (state.inFlight > 0 && clock.elapsed() < giveUpAt) await clock.sleep(10);
  app.server.closeAllConnections();
  await app.close();
}

/** Deletes the expired changes of the tenants whose stores are open. The feed of any other tenant does not grow. */
const oldChanges = (store: Store, { changesDays }: Config) => ({
  async deleteExpired(nowMs: number): Promise<void> {
    const before = formatTime(nowMs - changesDays * DAY_MS);
    for (const storeId of store.openTenants()) await deleteOldChanges(() => store.pims({ storeId }), before);
  },
});

function deleteEveryHour(
  stores: readonly { deleteExpired(nowMs: number): Promise<void> }[],
  log: pino.Logger,
  clock: Clock,
): void {
  const warn = (fault: unknown) =>
    log.warn({ err: fault }, 'Expired data could not be deleted. The service tries again in an hour.');
  const deleteFromAll = () => {
    for (const store of stores) store.deleteExpired(clock.now()).catch(warn);
  };
  clock.after(MINUTE_MS, deleteFromAll);
  every(clock, HOUR_MS, deleteFromAll);
}
