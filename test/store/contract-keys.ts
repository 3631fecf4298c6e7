/** Contract: a tenant's named pairs of keys, which pair a replacement replaces, their limits, and their calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import type { Scope } from '../../src/tenant/keys.ts';
import type { KeyCount, TenantStore } from '../../src/tenant/tenant-port.ts';
import { range, times, valuesOf } from '../kit/lists.ts';
import { at, bytes, readChain, untilTaken } from './people.ts';
import { accepted, assertRefused, entry, NOW, type StoreUnderTest } from './store-under-test.ts';

const MONTH = '2026-11';

export function describeKeys(store: StoreUnderTest): void {
  let teams = 0;
  let ids = 0;

  /** Makes a tenant, with functions that make, replace and list its keys and check one, each at a given minute. */
  async function open(keys?: TenantStore) {
    const tenants = keys ?? (await store.first()).tenants;
    const teamId = `keys-${++teams}`;
    accepted(await tenants.createTenant(teamId, 'A tenant', NOW));
    const newKey = () => ({ apiId: `${teamId}-${++ids}`, secretHash: bytes(1) });
    const create = async (
      name: string,
      minute = 0,
      more: { scope?: Scope; endsAt?: string; by?: TenantStore } = {},
    ) => {
      const { scope = 'write', endsAt = '', by = tenants } = more;
      const key = newKey();
      const audited = entry({ at: at(minute), target: key.apiId });
      const refusal = await by.createKeys(teamId, { ...key, name, scope }, endsAt, audited);
      return refusal instanceof Refusal ? refusal : key.apiId;
    };
    const replace = async (minute: number, name?: string, oldEndsAt = at(minute)) => {
      const key = newKey();
      const terms = await tenants.replaceKeys(teamId, key, oldEndsAt, entry({ at: at(minute) }), name);
      return terms instanceof Refusal ? terms : `${terms.name} ${terms.scope}`;
    };
    const list = async (minute: number): Promise<string[]> =>
      (await tenants.listKeys(teamId, at(minute))).map(
        ({ name, scope, endsAt, isReplaced }) => `${name} ${scope} ${endsAt || '-'}${isReplaced ? ' replaced' : ''}`,
      );
    const isGood = async (apiId: unknown, minute: number): Promise<boolean> =>
      (await tenants.findCaller(teamId, String(apiId), at(minute))) !== undefined;
    return { tenants, teamId, create, replace, list, isGood };
  }

  test('a pair is found with its name and scope, and is accepted beside all others until its end', async () => {
    const { tenants, teamId, create, replace, list, isGood } = await open();
    assert.equal(await replace(0), 'default write');
    const reports = (await create('reports', 1, { scope: 'read', endsAt: at(60) })) as string;
    const shop = await create('Web shop 2', 2);
    assert.deepEqual(await list(3), ['default write -', `reports read ${at(60)}`, 'Web shop 2 write -']);
    const caller = await tenants.findCaller(teamId, reports, at(3));
    assert.deepEqual(caller!.key, { apiId: reports, name: 'reports', scope: 'read' });
    const other = (await store.openAgain()).tenants;
    assert.deepEqual((await other.findCaller(teamId, reports, at(59)))!.key, caller!.key);
    assert.deepEqual(
      [await isGood(reports, 59), await isGood(reports, 60), await isGood(shop, 60)],
      [true, false, true],
    );
    assert.deepEqual(await list(60), ['default write -', 'Web shop 2 write -']);
  });

  test('COMMAND_REFUSED for the name of a valid pair, in any case; the name of an ended pair is free', async () => {
    const { tenants, teamId, create, replace, list } = await open();
    const first = (await create('shop', 0, { endsAt: at(10) })) as string;
    for (const name of ['shop', 'SHOP', 'Shop']) assertRefused(await create(name, 9), 'COMMAND_REFUSED', 'name');
    assert.equal(typeof (await create('Shop', 10)), 'string', 'it has ended by itself');
    await replace(11, 'Shop', at(20));
    assertRefused(await create('shop', 19), 'COMMAND_REFUSED', 'name');
    for (const { apiId } of await tenants.listKeys(teamId, at(19)))
      assert.equal(await tenants.endKey(teamId, apiId, entry({ at: at(19) })), true);
    assert.deepEqual(await list(19), []);
    assert.equal(typeof (await create('shop', 19)), 'string', 'they were ended');
    assert.equal(await tenants.endKey(teamId, first, entry({ at: at(19) })), false);
  });

  test('a tenant can have 20 pairs in force, created in any way, and each of them can still be replaced', async () => {
    const { create, replace, list } = await open();
    const other = (await store.openAgain()).tenants;
    const first = (await store.first()).tenants;
    const made = await Promise.all(
      times(24, (index) => untilTaken(() => create(`pair-${index}`, index, { by: index % 2 ? other : first }))),
    );
    const refused = made.filter((one) => one instanceof Refusal);
    assert.equal(refused.length, 4);
    for (const one of refused) assertRefused(one, 'COMMAND_REFUSED', 'name');
    assert.equal((await list(30)).length, 20);
    const names = (await list(30)).map((one) => one.split(' ')[0]!);
    for (const name of names) assert.equal(await replace(31, name, at(100)), `${name} write`);
    assert.equal((await list(32)).length, 40);
    assertRefused(await replace(32, names[0], at(100)), 'COMMAND_REFUSED', 'overlap');
    assert.equal(await replace(32, names[0]), `${names[0]} write`, 'at once it always can be');
    assertRefused(await create('one-more', 33), 'COMMAND_REFUSED', 'name');
  });

  test('a replacement is for the pair named, else default, else the oldest; it inherits name and scope', async () => {
    const { tenants, teamId, create, replace, list, isGood } = await open();
    assertRefused(await replace(0, 'reports'), 'COMMAND_REFUSED', 'name');
    assertRefused(await replace(0, 'default'), 'COMMAND_REFUSED', 'name');
    const old = await create('old', 0, { scope: 'read' });
    const young = await create('young', 1);
    assert.equal(await replace(2), 'old read', 'the oldest');
    assert.deepEqual([await isGood(old, 2), await isGood(young, 2)], [false, true]);
    assert.equal(await replace(3), 'young write', 'the oldest is now another');
    await create('default', 4, { scope: 'read', endsAt: at(1000) });
    assert.equal(await replace(5, undefined, at(65)), 'default read');
    assert.equal(await replace(6, 'old', at(66)), 'old read');
    assertRefused(await replace(6, 'Old'), 'COMMAND_REFUSED', 'name');
    assert.deepEqual(await list(7), [
      'young write -',
      'default read -',
      'old read -',
      `default read ${at(65)} replaced`,
      `old read ${at(66)} replaced`,
    ]);
    const records = await readChain((await store.first()).audit, teamId);
    const named = records.filter(({ detail }) => detail['name'] === 'old').length;
    assert.deepEqual([records.length, named], [7, 2], 'what was refused is not in the audit log');
    assert.deepEqual(await tenants.listKeys(teamId, at(2000)), (await tenants.listKeys(teamId, at(70))).slice(0, 3));
  });

  test('calls by pair add up in each month, with the time of the last, and are kept after the pair ends', async () => {
    const { tenants, teamId, create } = await open();
    const { usage } = await store.first();
    const apiId = (await create('shop')) as string;
    const count = (calls: number, usedAt: string, more: Partial<KeyCount> = {}): KeyCount => {
      return { teamId, month: usedAt.slice(0, 7), apiId, name: 'shop', calls, usedAt, ...more };
    };
    const add = (...counts: KeyCount[]) =>
      usage.addUsage(
        counts.map((one) => ({ teamId, day: one.usedAt.slice(0, 10), operation: one.name, calls: one.calls })),
        counts,
      );
    await add(count(2, '2026-10-31T23:59:59.999Z'), count(3, at(5)), count(1, at(1), { apiId: 'b', name: 'a first' }));
    await add(count(4, at(4)));
    await usage.addUsage([{ teamId, day: '2026-11-20', operation: 'getOrder', calls: 7 }]);
    assert.equal(await tenants.endKey(teamId, apiId, entry({ at: at(6) })), true);
    for (const one of [usage, (await store.openAgain()).usage]) {
      const { total, byKey } = await one.loadUsage(teamId, MONTH);
      assert.deepEqual(
        { total, byKey },
        {
          total: 15,
          byKey: [
            { apiId: 'b', name: 'a first', calls: 1 },
            { apiId, name: 'shop', calls: 7 },
          ],
        },
      );
      assert.deepEqual((await one.loadUsage(teamId, '2026-10')).byKey, [{ apiId, name: 'shop', calls: 2 }]);
      assert.deepEqual(Object.fromEntries(await one.loadLastUses(teamId)), { [apiId]: at(5), b: at(1) });
    }
    await tenants.deleteTenant((await tenants.findTenant(teamId))!);
    assert.deepEqual(await usage.loadUsage(teamId, MONTH), { total: 0, byDay: [], byKey: [] });
    assert.equal((await usage.loadLastUses(teamId)).size, 0);
  });

  test('no call by pair is lost, in any sequence, also from two processes at once', async () => {
    const stores = [(await store.first()).usage, (await store.openAgain()).usage];
    const given = fc.record({ process: fc.nat(1), keys: fc.subarray(range(4), { minLength: 1 }), calls: fc.nat(9) });
    await fc.assert(
      fc.asyncProperty(fc.array(given, { maxLength: 12 }), async (batches) => {
        const teamId = `random-${++teams}`;
        const add = ({ process, keys, calls }: (typeof batches)[number]) =>
          stores[process]!.addUsage(
            [{ teamId, day: '2026-11-20', operation: 'getOrder', calls: calls * keys.length }],
            keys.map((key) => ({ teamId, month: MONTH, apiId: `${key}`, name: `n${key}`, calls, usedAt: at(calls) })),
          );
        await Promise.all(batches.map(add));
        const expected = range(4).flatMap((key) => {
          const own = batches.filter(({ keys }) => keys.includes(key));
          const calls = own.reduce((sum, one) => sum + one.calls, 0);
          return own.length === 0 ? [] : [{ apiId: `${key}`, calls, usedAt: at(Math.max(...valuesOf(own, 'calls'))) }];
        });
        for (const one of stores) {
          const [{ total, byKey }, lastUses] = [await one.loadUsage(teamId, MONTH), await one.loadLastUses(teamId)];
          const found = byKey.map(({ apiId, calls }) => ({ apiId, calls, usedAt: lastUses.get(apiId) }));
          assert.deepEqual(found, expected);
          assert.equal(
            found.reduce((sum, { calls }) => sum + calls, 0),
            total,
          );
        }
      }),
      { numRuns: 30 },
    );
  });
}
