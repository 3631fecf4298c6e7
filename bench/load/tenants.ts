/**
 * Compares many tenants with few: each has one order, and calls choose tenants at random. The two services take turns.
 */
import { writeRecord } from '../../src/pims/operations.ts';
import { byOperator, entryBy } from '../../src/audit/audit.ts';
import { orThrow } from '../../src/errors.ts';
import { openStore, type Store, type StorePlace } from '../../src/store/open-store.ts';
import { issueKey } from '../../src/tenant/credentials.ts';
import { TURNS } from '../../test/kit/caller.ts';
import { runStatement } from '../../test/kit/postgres.ts';
import type { Keys } from '../../test/kit/service.ts';
import type { Options } from '../options.ts';
import { checkLeast, checkMost } from '../report/report.ts';
import { concludeWorkload, printHeadings } from '../report/results.ts';
import { measureRounds } from './rounds.ts';
import type { StoreName } from '../sides/places.ts';
import { startService } from '../sides/servers.ts';
import { ourDialect } from '../sides/side.ts';
import { systemClock } from '../../src/clock.ts';

/** PostgreSQL has few connections, because there the time of a call is compared, not the number of calls. */
const SIZES = { sqlite: { few: 100, many: 1000, connections: 64 }, postgres: { few: 1, many: 2000, connections: 4 } };
const SPEED_LEAST = 0.7;
const P99_MAX = 2;

/** Makes the tenants directly in the store, because a command for each would take an hour. */
async function makeTenants(place: StorePlace, count: number): Promise<Keys[]> {
  const settings = { ...TURNS, ...place, databaseConnections: 4, queryBudgetMs: 5000, queryThreads: 1 };
  const user = { name: 'storeroom bench', busyTimeoutMs: 5000, onFatal: () => undefined, clock: systemClock };
  const store = await openStore({ ...settings, openTenantsMax: 100 }, user);
  const keys: Keys[] = [];
  for (let index = 0; index < count; index++) keys.push(await makeTenant(store, `team-${index}`));
  await store.close();
  return keys;
}

async function makeTenant(store: Store, teamID: string): Promise<Keys> {
  const now = new Date().toISOString();
  const key = issueKey();
  const tenant = orThrow(await store.tenants.createTenant(teamID, teamID, now));
  await store.tenants.replaceKeys(teamID, key, now, entryBy(byOperator(Date.parse(now)), 'keys replaced', key.apiId));
  const pims = store.pims(tenant);
  const context = { now, strict: false, defaultStage: 'worksheet' } as const;
  await writeRecord(pims, 'createOrder', { REFERENCE_NUMBER: '#1', BNAME: teamID }, context);
  for (const PART_CODE of ['A', 'B', 'C'])
    await writeRecord(pims, 'addLineItem', { ORDER_NUMBER: '10001', PART_CODE, QUANTITY: '1' }, context);
  return { teamID, apiID: key.apiId, apiSecret: key.apiSecret };
}

export async function measureTenants(store: StoreName, place: string, options: Options): Promise<void> {
  const { few, many, connections } = SIZES[store];
  const databaseUrl = store === 'postgres' ? place : undefined;
  const data = databaseUrl === undefined ? place : '';
  const keys = await makeTenants({ data, databaseUrl: databaseUrl ?? '' }, many);
  if (databaseUrl !== undefined) await runStatement(place, 'VACUUM ANALYZE');
  const sides = [];
  for (const count of [many, few]) {
    const requests = keys.slice(0, count).map((one) => ourDialect(one).getOrder('10001'));
    const server = await startService(place);
    sides.push({ side: { name: `${count} tenants`, server, dialect: ourDialect(keys[0]!), databaseUrl }, requests });
  }
  const figures = await measureRounds(sides, { ...options, connections });
  for (const { side } of sides) await side.server.stop();
  const title = `an order of each of many tenants, ${connections} connections`;
  printHeadings();
  const names = sides.map(({ side }) => side.name);
  const [most, least] = concludeWorkload({ name: 'tenants', title }, names, figures).sides;
  if (store === 'sqlite') checkLeast(`${title}: speed, of few`, least!.ratio.median, SPEED_LEAST);
  else checkMost(`${title}: p99, times the p99 of one tenant`, most!.p99Ms / least!.p99Ms, P99_MAX);
}
