/**
 * Tests each alert of deploy/prometheus/storeroom.rules.yaml: what it warns of happens to a real service, and the
 * alert, which was silent before, fires on the metrics of the service.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { Client } from 'pg';
import { now } from '../kit/clock.ts';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { openSocket } from '../kit/raw-http.ts';
import { Shop, WIDE_CUSTOMER } from '../kit/records.ts';
import { ownService, temporaryFolder, type Keys, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { addWebhook, createCustomers, passUntil, PRIVATE, Receiver } from '../webhooks/receiver.ts';
import { AlertWatch, BEFORE, DURING, PROMETHEUS, RULES, runPromtool } from './alert-watch.ts';

/** Calls between two scrapes, which are 15 seconds apart on the clock of the rules. */
const CALLS = 100;
/** Interval, in real time, at which Node measures the delay of the event loop. The alert fires above 200 ms. */
const LOOK_MS = 10;
const HELD_MS = 300;
/** Time from a new line of the request log until it is saved. */
const FLUSH_MS = 250;
const DAY_MS = 86_400_000;

const FIRST_BACKUP_MS = 2000;

const made = new Set<string>();

/** Declares the test of an alert. `work` causes what the alert warns of, and is called before each scrape. */
function testAlert(
  alert: string,
  cause: string,
  run: (
    watch: AlertWatch,
    fires: (service: Service, work?: () => unknown, scrapes?: number) => Promise<void>,
  ) => unknown,
): void {
  made.add(alert);
  test(`${alert} fires: ${cause}`, async () => {
    const watch = new AlertWatch();
    await run(watch, async (service, work, scrapes = DURING) => {
      watch.expectSilent(alert);
      await watch.look(service, scrapes, work);
      watch.expectFiring(alert);
    });
  });
}

const read = async (service: Service, name: string): Promise<number> =>
  sumOf((await readMetrics(service)).samples, name)!;

/** Repeats `work` until the value of the metric is greater than 0. */
const tells = (service: Service, name: string, work?: () => unknown): Promise<void> =>
  until(async () => {
    await work?.();
    return (await read(service, name)) > 0;
  });

/** Starts the service again on the same data, with these settings. */
async function restartWith(service: Service, env: Record<string, string>): Promise<Service> {
  await service.stop();
  return ownService({ place: service.place, env });
}

/** Starts the service again with a request log that cannot be read. */
async function damageLog(service: Service): Promise<Service> {
  await service.stop();
  writeFileSync(join(service.dataFolder, 'requests.db'), 'This is no database. '.repeat(1000));
  return restartWith(service, { STOREROOM_REQUEST_LOG_RATE: '100000' });
}

suite('promtool', () => {
  test('finds no fault in rules, their bounds, the example and the metrics of a service', async () => {
    const service = await ownService();
    const metrics = await (await fetch(`${service.origin}/metrics`)).text();
    for (const [words, input] of [
      [['check', 'rules', RULES]],
      [['test', 'rules', join(PROMETHEUS, 'storeroom.rules.test.yaml')]],
      [['check', 'config', join(PROMETHEUS, 'prometheus.yaml')]],
      [['check', 'metrics'], metrics],
    ] as const) {
      const { isContent, text } = runPromtool(words, input);
      assert.ok(isContent, text);
    }
  });
});

suite('of the process', () => {
  testAlert('StoreroomDown', 'the process is killed', async (watch, fires) => {
    const service = await ownService();
    await watch.look(service, BEFORE);
    await service.stop('SIGKILL');
    await fires(service);
  });

  testAlert('StoreroomRestarting', 'the process is killed three times', async (watch, fires) => {
    const service = await ownService({ keepsPort: true });
    const startAgain = async (): Promise<void> => {
      await service.stop('SIGKILL');
      await service.restart();
    };
    await watch.look(service, BEFORE);
    await watch.look(service, 2, startAgain);
    await fires(service, startAgain, 1);
  });

  testAlert('StoreroomEventLoopLate', 'the process is held again and again', async (watch, fires) => {
    const service = await ownService();
    await watch.look(service, 3);
    const hold = async (ms: number): Promise<void> => {
      process.kill(service.pid, 'SIGSTOP');
      const heldAt = now();
      await until(() => now() - heldAt >= ms);
      process.kill(service.pid, 'SIGCONT');
      for (const _ of [1, 2]) await fetch(`${service.origin}/healthz`);
    };
    // Node measures the delay between two samples. A scrape discards the last sample, so the first hold makes one.
    const holdTwice = async (): Promise<void> => {
      await hold(2 * LOOK_MS);
      await hold(HELD_MS);
    };
    await fires(service, holdTwice, 25);
  });

  testAlert('StoreroomFileHandlesLow', 'connections take them all but a few', async (watch, fires) => {
    const service = await ownService({ under: ['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh'] });
    await watch.look(service, BEFORE);
    const sockets = times(240, () => openSocket(service.origin).on('error', () => undefined));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await fires(service);
    for (const socket of sockets) socket.destroy();
  });
});

suite('of calls', () => {
  testAlert('StoreroomOverloaded', 'more calls at once than may be in flight', async (watch, fires) => {
    const service = await ownService({ env: { STOREROOM_IN_FLIGHT_MAX: '2' } });
    const keys = await service.makeTenant('shop');
    const client = await HttpClient.open(service, 16);
    const call = (): Promise<unknown> => Promise.all(times(16, () => createOrder(client, keys)));
    await watch.look(service, BEFORE, () => createOrder(client, keys));
    await fires(service, call);
  });

  testAlert('StoreroomCredentialsRejected', 'a caller continues with wrong keys', async (watch, fires) => {
    const service = await ownService();
    const keys = await service.makeTenant('shop');
    const client = await HttpClient.open(service, 4);
    await watch.look(service, BEFORE, () => getOrder(client, keys, '1'));
    const wrong = { ...keys, apiSecret: 'wrong' };
    await fires(service, () => Promise.all(times(CALLS, () => getOrder(client, wrong, '1'))));
  });
});

suite('of the embedded store', () => {
  testAlert('StoreroomNotReady', 'the disk has less than the service wants', async (watch, fires) => {
    const service = await ownService();
    await watch.look(service, BEFORE);
    await fires(await restartWith(service, { STOREROOM_READY_FREE_MB: '999999999' }));
  });

  testAlert('StoreroomDiskLow', 'the disk has twice of what stops the log', async (watch, fires) => {
    const service = await ownService();
    await watch.look(service, BEFORE);
    const { bavail, blocks } = statfsSync(service.dataFolder);
    const percent = String(Math.max(1, Math.round((bavail / blocks) * 50)));
    const bounds = { STOREROOM_DISK_FREE_MB: '999999999', STOREROOM_DISK_FREE_PERCENT: percent };
    await fires(await restartWith(service, bounds));
  });

  testAlert('StoreroomTenantUnavailable', 'its file is removed', async (watch, fires) => {
    const service = await ownService();
    const keys = await service.makeTenant('shop');
    await watch.look(service, BEFORE);
    await service.stop();
    const [file] = globSync('tenants/*.db', { cwd: service.dataFolder });
    rmSync(join(service.dataFolder, file!));
    const again = await restartWith(service, {});
    await getOrder(again, keys, '1');
    await fires(again, undefined, 1);
  });

  testAlert('StoreroomRequestLogStopped', 'the file of the log is damaged', async (watch, fires) => {
    const service = await ownService();
    const keys = await service.makeTenant('shop');
    await watch.look(service, BEFORE);
    const damaged = await damageLog(service);
    await damaged.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' } });
    await damaged.move(FLUSH_MS);
    await tells(damaged, 'storeroom_request_log_stopped');
    await fires(damaged);
  });

  testAlert('StoreroomRequestLogIncomplete', 'more calls than memory holds while it is', async (watch, fires) => {
    const service = await ownService();
    const keys = await service.makeTenant('shop');
    await watch.look(service, BEFORE);
    const damaged = await damageLog(service);
    const client = await HttpClient.open(damaged, 64);
    const body = Object.fromEntries(times(8, (at) => [`FIELD${at}`, randomBytes(180).toString('base64url')]));
    const call = (): Promise<unknown> =>
      Promise.all(times(256, () => client.call(keys, 'PUT', '/orders/create', { body })));
    await fires(damaged, () => tells(damaged, 'storeroom_request_log_dropped_total', call), 1);
  });

  testAlert('StoreroomCallsNotCounted', 'another process holds the counts', async (watch, fires) => {
    const service = await ownService();
    const keys = await service.makeTenant('shop');
    const client = await HttpClient.open(service, 4);
    const call = (): Promise<unknown> => getOrder(client, keys, '1');
    await watch.look(service, BEFORE, call);
    const other = new DatabaseSync(join(service.dataFolder, 'usage.db'));
    other.exec('BEGIN IMMEDIATE');
    const refused = async (): Promise<void> => {
      let isAnswered = false;
      void call().finally(() => (isAnswered = true));
      await until(async () => {
        await service.move(1000);
        return isAnswered;
      });
    };
    await fires(service, refused, 1);
    other.close();
  });

  testAlert('StoreroomWriteAheadLogLong', 'a reader does not end', async (watch, fires) => {
    const service = await ownService();
    const shop = await Shop.open(service, 'shop');
    const wide = (from: number) => times(250, (at) => ({ CUSTOMER_CODE: `${from + at}`, ...WIDE_CUSTOMER }));
    const create = (): Promise<unknown> => Promise.all(times(8, () => shop.createOrder({})));
    await create();
    await watch.look(service, BEFORE, create);
    const [tenant] = globSync('tenants/*.db', { cwd: service.dataFolder });
    const reader = new DatabaseSync(join(service.dataFolder, tenant!));
    reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    for (let from = 0; from < 1500; from += 250) await shop.load('customers', wide(from));
    await fires(service, create, 45);
    reader.close();
  });
});

suite('of PostgreSQL', async () => {
  const server = await PostgresServer.start();
  after(() => server.remove());

  const stopServer = async (watch: AlertWatch): Promise<[Service, () => unknown]> => {
    const service = await ownService({ databaseUrl: await server.newDatabase() });
    const keys = await service.makeTenant('shop');
    const client = await HttpClient.open(service, 4);
    const call = (): Promise<unknown> => Promise.all(times(4, () => createOrder(client, keys)));
    await watch.look(service, BEFORE, call);
    await server.stop('immediate');
    return [service, call];
  };

  testAlert('StoreroomStoreUnavailable', 'the server is stopped', async (watch, fires) => {
    const [service, call] = await stopServer(watch);
    await call();
    try {
      await until(async () => (await read(service, 'storeroom_store_usable')) === 0);
      await fires(service, undefined, 20);
    } finally {
      await server.restart();
    }
  });

  testAlert('StoreroomErrors', 'calls continue while the server is stopped', async (watch, fires) => {
    const [service, call] = await stopServer(watch);
    try {
      await fires(service, call);
    } finally {
      await server.restart();
    }
  });

  /** Lets writers of several tenants, on one connection, wait for a lock that they never get, while `fires` runs. */
  const withLock = async (
    watch: AlertWatch,
    fires: (service: Service, answers: EventEmitter) => Promise<void>,
  ): Promise<void> => {
    const databaseUrl = await server.newDatabase();
    const service = await ownService({ databaseUrl, env: { STOREROOM_DATABASE_CONNECTIONS: '1' } });
    const all = await Promise.all(times(6, (at) => service.makeTenant(`shop${at}`)));
    const client = await HttpClient.open(service, all.length);
    const write = (keys: Keys): Promise<unknown> => createOrder(client, keys);
    await Promise.all(all.map(write));
    await watch.look(service, BEFORE);
    const tables = await runStatement(
      databaseUrl,
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE tablename = 'ORDERS'`,
    );
    const locker = new Client({ connectionString: databaseUrl });
    await locker.connect();
    await locker.query(`BEGIN; LOCK TABLE ${tables.map(({ name }) => name).join(', ')} IN EXCLUSIVE MODE`);
    const isOver = new AbortController();
    const answers = new EventEmitter();
    const writing = all.map(async (keys) => {
      while (!isOver.signal.aborted) {
        await write(keys);
        answers.emit('one');
      }
    });
    try {
      await fires(service, answers);
    } finally {
      isOver.abort();
      await locker.end();
      await Promise.all(writing);
    }
  };

  testAlert('StoreroomSlow', 'writes wait for a lock', (watch, fires) =>
    withLock(watch, async (service, answers) => {
      let scrapes = 0;
      // An answer arrives when a wait for the lock ends: every two and a half minutes on the clock of the rules.
      await fires(service, () => scrapes++ % 10 === 0 && once(answers, 'one'));
    }),
  );

  testAlert('StoreroomDatabasePoolExhausted', 'writes of several tenants wait for one connection', (watch, fires) =>
    withLock(watch, async (service) => {
      await tells(service, 'storeroom_database_pool_waiting');
      await fires(service);
    }),
  );
});

suite('of backups', () => {
  /** Starts a service with a folder for backups, and waits until it has made its first backup. */
  const startWithBackups = async (watch: AlertWatch): Promise<Service> => {
    const service = await ownService({ env: { STOREROOM_BACKUP_DIR: temporaryFolder() } });
    await service.move(FIRST_BACKUP_MS);
    await tells(service, 'storeroom_backup_last_success_timestamp_seconds');
    await watch.look(service, BEFORE);
    return service;
  };

  testAlert('StoreroomBackupOverdue', 'the last is three days old, and the disk has no room', async (watch, fires) => {
    const service = await startWithBackups(watch);
    const folder = temporaryFolder();
    const threeDaysAgo = service
      .timeAt(-3 * DAY_MS)
      .slice(0, 19)
      .replaceAll(':', '-');
    mkdirSync(join(folder, `storeroom-${threeDaysAgo}Z`));
    const full = { STOREROOM_BACKUP_DIR: folder, STOREROOM_READY_FREE_MB: '999999999' };
    await fires(await restartWith(service, full), undefined, 45);
  });

  testAlert('StoreroomBackupFailed', 'its folder cannot be made', async (watch, fires) => {
    const service = await startWithBackups(watch);
    await fires(await restartWith(service, { STOREROOM_BACKUP_DIR: '/dev/null/backups' }), undefined, 2);
  });
});

suite('webhooks', () => {
  testAlert('StoreroomWebhooksLate', 'a receiver refuses a change for two hours', async (watch, fires) => {
    const service = await ownService({ env: PRIVATE });
    const keys = await service.makeTenant('shop');
    const receiver = await Receiver.start();
    receiver.behave = () => 500;
    await addWebhook(service, 'shop', receiver);
    await watch.look(service, BEFORE);
    await createCustomers(service, keys, 1);
    await passUntil(service, () => receiver.received.length > 0);
    await service.move(DAY_MS / 12);
    await fires(service);
  });
});

test('every alert has a test that makes its cause', () => {
  const alerts = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
  assert.deepEqual([...made].toSorted(), alerts.toSorted());
});
