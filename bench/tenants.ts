/**
 * Many tenants with one order each, called in turn: the records and requests for both stores, and what the embedded
 * store does with more and more of them.
 */
import { readdirSync } from 'node:fs';
import { addLineItem, createOrder } from '../src/pims/operations.ts';
import { Refusal } from '../src/errors.ts';
import { openStore, type Store, type StorePlace } from '../src/store/open.ts';
import { issueKey } from '../src/tenant/credentials.ts';
import { memoryOf } from '../test/kit/attack.ts';
import { TURNS } from '../test/kit/caller.ts';
import { BASE_PATH, temporaryFolder, type Keys } from '../test/kit/service.ts';
import { load, type LoadRequest } from './load-generator.ts';
import { checkBar, medianOf, printRow } from './report.ts';
import { startService } from './servers.ts';
import { authorize } from './workloads.ts';

const COUNTS = [100, 195, 240, 1000];
const CONNECTIONS = 64;
const RATIO_BAR = 0.7;

/** Through the store, as a command for each would take an hour. */
export async function makeTenants(place: StorePlace, count: number): Promise<Keys[]> {
  const settings = { ...TURNS, ...place, databaseConnections: 4, queryBudgetMs: 5000, queryThreads: 1 };
  const user = { name: 'storeroom bench', busyTimeoutMs: 5000, onFatal: () => undefined };
  const store = await openStore({ ...settings, openTenantsMost: 100 }, user);
  const keys: Keys[] = [];
  for (let index = 0; index < count; index++) keys.push(await makeTenant(store, `team-${index}`));
  await store.close();
  return keys;
}

async function makeTenant(store: Store, teamID: string): Promise<Keys> {
  const now = new Date().toISOString();
  const tenant = await store.tenants.createTenant(teamID, teamID, now);
  if (tenant instanceof Refusal) throw tenant;
  const { apiId: apiID, apiSecret, secretHash } = issueKey();
  await store.tenants.replaceKeys(teamID, { apiId: apiID, secretHash }, now, {
    at: now,
    actor: 'bench',
    action: 'keys.replaced',
    target: apiID,
    client: '',
    detail: {},
  });
  const pims = store.pims(tenant);
  const context = { now, strict: false, defaultStage: 'worksheet' } as const;
  await createOrder(pims, { REFERENCE_NUMBER: '#1', BNAME: teamID }, context);
  for (const PART_CODE of ['A', 'B', 'C'])
    await addLineItem(pims, { ORDER_NUMBER: '10001', PART_CODE, QUANTITY: '1' }, context);
  return { teamID, apiID, apiSecret };
}

export const orderOf = (keys: Keys): LoadRequest => ({
  method: 'GET',
  path: `${BASE_PATH}/orders/single?teamID=${keys.teamID}&orderNum=10001`,
  headers: authorize(keys),
});

/** Calls a second to each number of tenants, a new service for each number, and what that holds afterwards. */
export async function measureTenants(rounds: number, seconds: number, counts = COUNTS): Promise<void> {
  const data = temporaryFolder();
  const requests = (await makeTenants({ data, databaseUrl: '' }, Math.max(...counts))).map(orderOf);
  const speeds = new Map<number, number>();
  printRow(`\n${CONNECTIONS} connections, tenants in turn`, 'calls/s', 'p99 ms', 'RSS MiB', 'handles');
  for (const count of counts) {
    const service = await startService(data);
    const called = requests.slice(0, count);
    const measure = () => load(service.origin, called, { connections: CONNECTIONS, seconds });
    await measure();
    const figures = [];
    for (let round = 0; round < rounds; round++) figures.push(await measure());
    const speed = medianOf(figures, 'perSecond');
    speeds.set(count, speed);
    const handles = readdirSync(`/proc/${service.pid}/fd`).length;
    printRow(`${count} tenants`, speed, medianOf(figures, 'p99Ms'), memoryOf(service.pid).now, handles);
    await service.stop();
  }
  const ratio = speeds.get(counts.at(-1)!)! / speeds.get(counts[0]!)!;
  const name = `${counts.at(-1)} tenants in turn, to ${counts[0]}`;
  checkBar(name, ratio, ratio >= RATIO_BAR, `at least ${RATIO_BAR}`);
}
