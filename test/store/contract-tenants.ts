/** Contract: every process sees the last change of a tenant or key; a removed tenant leaves nothing; usage is exact. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Tenant, UsageCount } from '../../src/tenant/tenant-port.ts';
import { times } from '../kit/lists.ts';
import { accepted, assertRefused, entry, NOW, type StoreUnderTest, Pims } from './store-under-test.ts';

const HASH = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const at = (minutes: number): string => new Date(Date.parse(NOW) + minutes * 60_000).toISOString();

export function describeTenants(store: StoreUnderTest): void {
  const tenants = async () => (await store.first()).tenants;
  const create = async (teamId: string): Promise<Tenant> =>
    accepted(await (await tenants()).createTenant(teamId, `Name of ${teamId}`, NOW));
  const usage = async () => (await store.first()).usage;
  const count = (teamId: string, calls: number, { day = '2026-11-20', operation = 'getOrder' } = {}): UsageCount => ({
    teamId,
    day,
    operation,
    calls,
  });

  test('a new tenant has no limits and is found only by exactly its team ID', async () => {
    const made = await create('found');
    const { storeId, ...rest } = made;
    assert.ok(storeId.length > 'found'.length);
    assert.deepEqual(rest, {
      teamId: 'found',
      name: 'Name of found',
      createdAt: NOW,
      defaultStage: 'worksheet',
      strict: false,
      monthQuota: null,
      ownQuota: null,
      callsPerSecond: null,
    });
    assert.deepEqual(await (await tenants()).findTenant('found'), made);
    for (const teamId of ['Found', 'foun', 'found ', '', "' OR 1=1 --"])
      assert.equal(await (await tenants()).findTenant(teamId), undefined);
  });

  test('COMMAND_REFUSED for a used team ID, also in another case, also in simultaneous calls', async () => {
    await create('taken');
    for (const teamId of ['taken', 'TAKEN', 'Taken'])
      assertRefused(await (await tenants()).createTenant(teamId, 'x', NOW), 'COMMAND_REFUSED');
    const other = (await store.openAgain()).tenants;
    const outcomes = await Promise.all(
      [await tenants(), other, await tenants(), other].map((one) => one.createTenant('race', 'x', NOW)),
    );
    assert.equal(outcomes.filter((outcome) => !(outcome instanceof Error)).length, 1);
  });

  test('tenants are listed by team ID, and settings change what was set', async () => {
    for (const teamId of ['list-b', 'list-a', 'list-c']) await create(teamId);
    const settings = {
      name: 'Another',
      defaultStage: 'quote',
      strict: true,
      monthQuota: 10 ** 12,
      ownQuota: 900,
      callsPerSecond: 0.5,
    } as const;
    await (await tenants()).updateTenant('list-b', settings, entry());
    const listed = (await (await store.openAgain()).tenants.listTenants()).filter(({ teamId }) =>
      teamId.startsWith('list-'),
    );
    assert.deepEqual(
      listed.map(({ teamId, strict }) => `${teamId} ${strict}`),
      ['list-a false', 'list-b true', 'list-c false'],
    );
    const { name, defaultStage, strict, monthQuota, ownQuota, callsPerSecond } = listed[1]!;
    assert.deepEqual({ name, defaultStage, strict, monthQuota, ownQuota, callsPerSecond }, settings);
    const none = { ...settings, monthQuota: null, ownQuota: null, callsPerSecond: null, strict: false };
    await (await tenants()).updateTenant('list-b', none, null);
    assert.equal((await (await tenants()).findTenant('list-b'))!.monthQuota, null);
  });

  test('a caller is found by team and API ID together, with the hash of that key', async () => {
    const [a, b] = [await create('caller-a'), await create('caller-b')];
    const keys = await tenants();
    assert.equal(await keys.findCaller('caller-a', 'id-a', NOW), undefined, 'no keys yet');
    await keys.replaceKeys('caller-a', { apiId: 'id-a', secretHash: HASH(1) }, NOW, entry());
    await keys.replaceKeys('caller-b', { apiId: 'id-b', secretHash: HASH(2) }, NOW, entry());
    const found = await keys.findCaller('caller-a', 'id-a', NOW);
    assert.ok(found);
    assert.deepEqual(found.tenant, a);
    assert.deepEqual(new Uint8Array(found.secretHash), HASH(1));
    assert.deepEqual((await keys.findCaller('caller-b', 'id-b', NOW))?.tenant, b);
    for (const [teamId, apiId] of [
      ['caller-a', 'id-b'],
      ['caller-b', 'id-a'],
      ['CALLER-A', 'id-a'],
      ['caller-a', 'ID-A'],
      ['caller-a', ''],
      ['', 'id-a'],
    ])
      assert.equal(await keys.findCaller(teamId!, apiId!, NOW), undefined, `${teamId} ${apiId}`);
  });

  test('replaced keys end at once, or at the end of their overlap, for every process', async () => {
    await create('rotation');
    const other = (await store.openAgain()).tenants;
    const keys = await tenants();
    const expectGood = async (apiId: string, now: string, isGood: boolean): Promise<void> => {
      for (const one of [keys, other])
        assert.equal((await one.findCaller('rotation', apiId, now)) !== undefined, isGood, `${apiId} at ${now}`);
    };
    await keys.replaceKeys('rotation', { apiId: 'r1', secretHash: HASH(1) }, at(0), entry({ at: at(0) }));
    await keys.replaceKeys('rotation', { apiId: 'r2', secretHash: HASH(2) }, at(1), entry({ at: at(1) }));
    await expectGood('r1', at(1), false);
    await expectGood('r2', at(1), true);
    await other.replaceKeys('rotation', { apiId: 'r3', secretHash: HASH(3) }, at(62), entry({ at: at(2) }));
    await expectGood('r2', at(61), true);
    await expectGood('r3', at(61), true);
    await expectGood('r2', at(62), false);
    await expectGood('r3', at(62), true);
    await keys.replaceKeys('rotation', { apiId: 'r4', secretHash: HASH(4) }, at(3), entry({ at: at(3) }));
    await expectGood('r2', at(3), false);
    await expectGood('r3', at(3), false);
    await expectGood('r4', at(3), true);
  });

  test('an overlap never extends the one of a key that was already replaced', async () => {
    await create('overlap');
    const keys = await tenants();
    await keys.replaceKeys('overlap', { apiId: 'o1', secretHash: HASH(1) }, at(0), entry({ at: at(0) }));
    await keys.replaceKeys('overlap', { apiId: 'o2', secretHash: HASH(2) }, at(10), entry({ at: at(1) }));
    await keys.replaceKeys('overlap', { apiId: 'o3', secretHash: HASH(3) }, at(1000), entry({ at: at(2) }));
    assert.ok(await keys.findCaller('overlap', 'o1', at(9)));
    assert.equal(await keys.findCaller('overlap', 'o1', at(10)), undefined);
    assert.ok(await keys.findCaller('overlap', 'o2', at(999)));
  });

  test('a caller in constant use is always in the state that any process last committed', async () => {
    const [here, there] = [await tenants(), (await store.openAgain()).tenants];
    const find = async (apiId: string): Promise<(string | undefined)[]> => {
      const found = [];
      // Each store is asked twice, because it may answer the second time from its cache.
      for (const one of [here, there, here, there]) found.push((await one.findCaller('hot', apiId, NOW))?.tenant.name);
      return found;
    };
    const everywhere = (name: string | undefined): (string | undefined)[] => times(4, () => name);
    const settings = {
      defaultStage: 'quote',
      strict: true,
      monthQuota: null,
      ownQuota: null,
      callsPerSecond: null,
    } as const;
    await create('hot');
    for (const [step, writer] of [here, there, there, here, here, there].entries()) {
      const apiId = `hot-${step}`;
      assert.deepEqual(await find(apiId), everywhere(undefined), 'no key yet');
      await writer.replaceKeys('hot', { apiId, secretHash: HASH(step) }, NOW, entry());
      assert.deepEqual(await find(`hot-${step - 1}`), everywhere(undefined), 'replaced');
      assert.notEqual((await find(apiId))[0], undefined);
      await writer.updateTenant('hot', { ...settings, name: `Name ${step}` }, null);
      assert.deepEqual(await find(apiId), everywhere(`Name ${step}`));
    }
    await there.deleteTenant((await there.findTenant('hot'))!);
    assert.deepEqual(await find('hot-5'), everywhere(undefined), 'removed');
    await create('hot');
    await there.replaceKeys('hot', { apiId: 'hot-5', secretHash: HASH(1) }, NOW, entry());
    assert.deepEqual(await find('hot-5'), everywhere('Name of hot'), 'made again');
  });

  test('a removed tenant is deleted with its keys; created again, it has none of its former data', async () => {
    const first = await store.first();
    const old = await create('again');
    const { tenants: keys } = first;
    await keys.replaceKeys('again', { apiId: 'again-1', secretHash: HASH(1) }, NOW, entry());
    const other = await store.openAgain();
    for (const one of [first, other]) await new Pims(one.pims(old)).createOrder({ NOTES: 'of the old tenant' });
    await (await usage()).addUsage([count('again', 5)]);
    await keys.deleteTenant(old);
    assert.equal(await keys.findTenant('again'), undefined);
    assert.equal(await keys.findCaller('again', 'again-1', NOW), undefined);
    assert.equal(await other.tenants.findCaller('again', 'again-1', NOW), undefined);

    const anew = await create('again');
    assert.notEqual(anew.storeId, old.storeId);
    assert.equal(await keys.findCaller('again', 'again-1', NOW), undefined);
    for (const one of [first, other, await store.openAgain()])
      assert.deepEqual(await new Pims(one.pims(anew)).readEverything(), {
        orders: [],
        lines: [],
        customers: [],
        inventory: [],
      });
    assert.deepEqual(await (await usage()).loadUsage('again', '2026-11'), { total: 0, byDay: [], byKey: [] });
    assert.deepEqual([...(await (await usage()).addUsage([count('again', 1)])).values()], [1]);
  });

  test('usage adds up by day and operation, and returns the total of each affected month', async () => {
    const meter = await usage();
    const totals = await meter.addUsage([
      count('sums', 2),
      count('sums', 3, { operation: 'createOrder' }),
      count('sums', 1, { day: '2026-11-01' }),
      count('sums', 7, { day: '2026-12-01' }),
      count('sums-2', 1),
    ]);
    assert.deepEqual(Object.fromEntries(totals), { 'sums 2026-11': 6, 'sums 2026-12': 7, 'sums-2 2026-11': 1 });
    assert.deepEqual(Object.fromEntries(await meter.addUsage([count('sums', 4)])), { 'sums 2026-11': 10 });
    assert.deepEqual(await meter.loadUsage('sums', '2026-11'), {
      total: 10,
      byDay: [
        { day: '2026-11-01', operation: 'getOrder', calls: 1 },
        { day: '2026-11-20', operation: 'createOrder', calls: 3 },
        { day: '2026-11-20', operation: 'getOrder', calls: 6 },
      ],
      byKey: [],
    });
    assert.equal((await meter.loadUsage('sums', '2026-12')).total, 7);
    for (const [teamId, month] of [
      ['sums', '2026-10'],
      ['sums', '2027-11'],
      ['nobody', '2026-11'],
    ])
      assert.deepEqual(await meter.loadUsage(teamId!, month!), { total: 0, byDay: [], byKey: [] });
  });

  test('no count is lost and the total is their sum, in any sequence, also from two processes at once', async () => {
    const stores = [await usage(), (await store.openAgain()).usage];
    const counts = fc.record({
      process: fc.nat(1),
      team: fc.constantFrom('x', 'y'),
      day: fc.integer({ min: 1, max: 28 }),
      operation: fc.constantFrom('getOrder', 'createOrder'),
      calls: fc.integer({ min: 1, max: 50 }),
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(counts, { maxLength: 20 }), async (given) => {
        const run = `run-${++runs}-`;
        await Promise.all(
          given.map(({ process, team, day, ...rest }) =>
            stores[process]!.addUsage([
              { teamId: run + team, day: `2026-02-${String(day).padStart(2, '0')}`, ...rest },
            ]),
          ),
        );
        for (const team of ['x', 'y']) {
          const expected = given.filter((one) => one.team === team).reduce((sum, { calls }) => sum + calls, 0);
          for (const one of stores) {
            const { total, byDay } = await one.loadUsage(run + team, '2026-02');
            assert.equal(total, expected);
            const found = byDay.reduce((sum, { calls }) => sum + calls, 0);
            assert.equal(found, expected);
          }
          if (expected > 0)
            assert.deepEqual(
              [...(await stores[0]!.addUsage([count(run + team, 1, { day: '2026-02-28' })])).values()],
              [expected + 1],
            );
        }
      }),
      { numRuns: 30 },
    );
  });
}
