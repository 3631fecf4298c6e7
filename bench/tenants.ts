/**
 * Many tenants with one order each, called at random, beside fewer of them: one service for each number, in turns.
 */
import { addLineItem, createOrder } from '../src/pims/operations.ts';
import { Refusal } from '../src/errors.ts';
import { openStore, type Store, type StorePlace } from '../src/store/open.ts';
import { issueKey } from '../src/tenant/credentials.ts';
import { TURNS } from '../test/kit/caller.ts';
import { runStatement } from '../test/kit/postgres.ts';
import type { Keys } from '../test/kit/service.ts';
import type { Options, StoreName } from './options.ts';
import { checkBar } from './report.ts';
import { concludeWorkload, printHeadings } from './results.ts';
import { measureRounds } from './rounds.ts';
import { startService } from './servers.ts';
import { ourDialect } from './side.ts';
import { systemClock } from '../src/clock.ts';

/** Few connections with PostgreSQL: there the time of a call is compared, not how many calls there can be. */
const SIZES = { sqlite: { few: 100, many: 1000, connections: 64 }, postgres: { few: 1, many: 2000, connections: 4 } };
const SPEED_LEAST = 0.7;
const P99_MOST = 2;

/** Through the store, as a command for each would take an hour. */
async function makeTenants(place: StorePlace, count: number): Promise<Keys[]> {
  const settings = { ...TURNS, ...place, databaseConnections: 4, queryBudgetMs: 5000, queryThreads: 1 };
  const user = { name: 'storeroom bench', busyTimeoutMs: 5000, onFatal: () => undefined, clock: systemClock };
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

export async function measureTenants(store: StoreName, place: string, options: Options): Promise<void> {
  const { few, many, connections } = SIZES[store];
  const isDatabase = store === 'postgres';
  const keys = await makeTenants({ data: isDatabase ? '' : place, databaseUrl: isDatabase ? place : '' }, many);
  if (isDatabase) await runStatement(place, 'VACUUM ANALYZE');
  const sides = [];
  for (const count of [many, few]) {
    const called = keys.slice(0, count);
    const databaseUrl = isDatabase ? place : undefined;
    const side = {
      name: `${count} tenants`,
      server: await startService(place),
      dialect: ourDialect(keys[0]!),
      databaseUrl,
    };
    sides.push({ side, requests: called.map((one) => ourDialect(one).getOrder('10001')) });
  }
  const figures = await measureRounds(sides, { ...options, connections });
  for (const { side } of sides) await side.server.stop();
  const title = `an order of each of many tenants, ${connections} connections`;
  printHeadings();
  const { sides: found } = concludeWorkload(
    { name: 'tenants', title },
    sides.map(({ side }) => side.name),
    figures,
  );
  const speed = found[1]!.ratio.median;
  const slower = found[0]!.p99Ms / found[1]!.p99Ms;
  if (store === 'sqlite') checkBar(title, speed, speed >= SPEED_LEAST, `at least ${SPEED_LEAST} of few`);
  else checkBar(`p99 of ${title}`, slower, slower <= P99_MOST, `at most ${P99_MOST} times the p99 of one tenant`);
}
