/**
 * Metering under load: good calls, refused ones and ones that never were let in, are counted
 * exactly.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basicOf, bodyOf, stockShop, type GoodCall, type StockedShop } from '../kit/operations.ts';
import { sharedService, type Answer, type CallOptions, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';

const CALLS = trials('CALLS', { quick: 2000, all: 10_000 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** What a service on a busy machine may answer, whatever the call; whether that is counted depends on when it was busy. */
const BUSY = 503;
/** More of them, and the test says little. */
const BUSY_MOST = CALLS / 10;

interface MonthUsage {
  total: number;
  byOperation: { operation: string; calls: number }[];
  byKey: { apiID: string; calls: number }[];
}

const service = await sharedService();
const client = await HttpClient.open(service, CONNECTIONS);
const shops = [await stockShop(service, 'one'), await stockShop(service, 'two'), await stockShop(service, 'three')];

/** Sends a call with something changed about it. */
type Send = (keys: Keys, call: GoodCall, change?: CallOptions) => Promise<Answer>;
const send: Send = (keys, call, change = {}) => {
  const { method, path, query } = call;
  const { query: parameters = { teamID: keys.teamID, ...query }, headers = { authorization: basicOf(keys) } } = change;
  return client.request(method, path, {
    query: parameters,
    body: 'body' in change ? change.body : bodyOf(call),
    headers,
  });
};

interface Kind {
  readonly isCounted: boolean;
  readonly statuses: readonly number[];
  readonly send: (keys: Keys, call: GoodCall, other: Keys) => Promise<Answer>;
}
const counted = (statuses: readonly number[], make: Kind['send']): Kind => ({ isCounted: true, statuses, send: make });
const free = (status: number, make: Kind['send']): Kind => ({ isCounted: false, statuses: [status], send: make });

const KINDS: Record<string, Kind> = {
  good: counted([200], (keys, call) => send(keys, call)),
  'credentials in the query': counted([200], (keys, call) =>
    send(keys, call, { query: { ...call.query, ...keys }, headers: {} }),
  ),
  'a parameter nobody knows': counted([400], (keys, call) =>
    send(keys, call, { query: { teamID: keys.teamID, ...call.query, colour: 'red' } }),
  ),
  'a body that is not JSON': counted([400], (keys, call) => send(keys, call, { body: '{' })),
  'another media type': counted([400, 415], (keys, call) =>
    send(keys, call, { body: '{}', headers: { authorization: basicOf(keys), 'content-type': 'text/plain' } }),
  ),
  'no teamID': free(400, (keys, call) => send(keys, call, { query: call.query })),
  'no credentials': free(401, (keys, call) => send(keys, call, { headers: {} })),
  "another team's keys": free(401, (keys, call, other) =>
    send(keys, call, { headers: { authorization: basicOf({ ...other, teamID: keys.teamID }) } }),
  ),
  'a mistyped secret': free(401, (keys, call) =>
    send(keys, call, {
      headers: { authorization: basicOf({ ...keys, apiSecret: `${keys.apiSecret.slice(0, -1)}!` }) },
    }),
  ),
  'a team nobody knows': free(401, (keys, call) => send(keys, call, { query: { ...call.query, teamID: 'nobody' } })),
  'a path nobody knows': free(404, (keys, call) => send(keys, { ...call, path: `${call.path}/more` })),
  'a method the path does not take': free(405, (keys, call) => send(keys, { ...call, method: 'DELETE' as 'PUT' })),
};

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;
/** What `storeroom usage` says of each shop. */
const sumUsage = () =>
  Promise.all(
    shops.map(async (shop) => {
      const { total, byOperation, byKey } = (
        await service.command('usage', shop.keys.teamID, '--json')
      ).json() as MonthUsage;
      assert.deepEqual(byKey, [{ apiID: shop.keys.apiID, name: 'default', calls: total }]);
      return { shop, total, sums: new Map(byOperation.map(({ operation, calls }) => [operation, calls])) };
    }),
  );

test(`usage is exactly the authenticated ones of ${CALLS} calls from ${CONNECTIONS} connections`, async () => {
  const expected = new Map<StockedShop, Map<string, number>>();
  for (const { shop, sums } of await sumUsage()) expected.set(shop, sums);
  const largest = new Map<StockedShop, number>();
  const busy = new Map<StockedShop, number>();
  const names = Object.keys(KINDS);
  let left = CALLS;

  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const shop = pick(shops);
      const call = pick(shop.calls);
      const name = Math.random() < 0.5 ? 'good' : pick(names);
      const { isCounted, statuses, send: sendKind } = KINDS[name]!;
      const { status, headers } = await sendKind(shop.keys, call, pick(shops.filter((one) => one !== shop)).keys);
      if (status === BUSY) {
        busy.set(shop, (busy.get(shop) ?? 0) + 1);
        continue;
      }
      assert.ok(statuses.includes(status), `${call.operation}, ${name}: ${status}`);
      const month = headers.get('x-month-requests');
      assert.equal(month !== null, isCounted, `${call.operation}, ${name}: X-Month-Requests is ${month}`);
      if (!isCounted) continue;
      const sums = expected.get(shop)!;
      sums.set(call.operation, (sums.get(call.operation) ?? 0) + 1);
      largest.set(shop, Math.max(largest.get(shop) ?? 0, Number(month)));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));

  for (const { shop, sums, total } of await sumUsage()) {
    const most = busy.get(shop) ?? 0;
    assert.ok(most <= BUSY_MOST, `${most} calls were refused as the service was busy`);
    let more = 0;
    for (const operation of new Set([...sums.keys(), ...expected.get(shop)!.keys()])) {
      const beyond = (sums.get(operation) ?? 0) - (expected.get(shop)!.get(operation) ?? 0);
      assert.ok(beyond >= 0, `${operation}: ${-beyond} calls are not counted`);
      more += beyond;
    }
    assert.ok(more <= most, `${more} calls more are counted than were answered, ${most} were refused`);
    assert.equal(
      total,
      sums.values().reduce((sum, calls) => sum + calls, 0),
    );
    const last = largest.get(shop)!;
    assert.ok(last <= total && last >= total - more, `the largest X-Month-Requests is ${last}, the total ${total}`);
  }
});
