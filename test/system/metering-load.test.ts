/** Tests metering under load: successful and refused calls are counted exactly, and unauthenticated calls are not. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { basicOf, bodyOf, stockShop, type GoodCall, type StockedShop } from '../kit/operations.ts';
import { ownService, type Answer, type CallOptions, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';

const CALLS = trials('CALLS', { quick: 1000, all: 10_000 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** Status with which a service on a busy machine may refuse any call. The call is then repeated. */
const BUSY = 503;

interface MonthUsage {
  total: number;
  byOperation: { operation: string; calls: number }[];
  byKey: { apiID: string; calls: number }[];
}

interface Exported {
  records: unknown[];
}

/** The operations that make a record, and its type. */
const MAKES: Readonly<Record<string, string>> = {
  createOrder: 'orders',
  addLineItem: 'lines',
  createCustomer: 'customers',
};

const service = await ownService();
const client = await HttpClient.open(service, CONNECTIONS);
const shops = [await stockShop(service, 'one'), await stockShop(service, 'two'), await stockShop(service, 'three')];

/** A call with the header that lets it be repeated. */
interface KeyedCall extends GoodCall {
  readonly idempotency: Record<string, string>;
}

/** Sends a call with some changes. */
type Send = (keys: Keys, call: KeyedCall, change?: CallOptions) => Promise<Answer>;
const send: Send = (keys, call, change = {}) => {
  const { method, path, query, idempotency } = call;
  const { query: parameters = { teamID: keys.teamID, ...query }, headers = { authorization: basicOf(keys) } } = change;
  return client.request(method, path, {
    query: parameters,
    body: 'body' in change ? change.body : bodyOf(call),
    headers: { ...headers, ...idempotency },
  });
};

interface Kind {
  readonly isCounted: boolean;
  readonly statuses: readonly number[];
  readonly send: (keys: Keys, call: KeyedCall, other: Keys) => Promise<Answer>;
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
/** Returns what `storeroom usage` reports for each shop. */
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

/** Counts the records of a shop that each operation of MAKES could have made. */
async function countRecords({ keys }: StockedShop): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [operation, recordType] of Object.entries(MAKES)) {
    const { records } = (await service.command('export', keys.teamID, recordType, '--json')).json() as Exported;
    counts[operation] = records.length;
  }
  return counts;
}

const add = (sums: Map<string, number>, name: string): unknown => sums.set(name, (sums.get(name) ?? 0) + 1);

test(`usage is exactly the authenticated ones of ${CALLS} calls from ${CONNECTIONS} connections`, async (context) => {
  const expected = new Map<StockedShop, Map<string, number>>();
  for (const { shop, sums } of await sumUsage()) expected.set(shop, sums);
  const largest = new Map<StockedShop, number>();
  const made = new Map<StockedShop, Map<string, number>>();
  for (const shop of shops) made.set(shop, new Map(Object.entries(await countRecords(shop))));
  const names = Object.keys(KINDS);
  let left = CALLS;
  let refused = 0;

  /** Repeats a call until its answer is not 503, and counts every answer that says that the call was counted. */
  const sendUntilTaken = async (shop: StockedShop, call: KeyedCall, name: string): Promise<number> => {
    const { isCounted, statuses, send: sendKind } = KINDS[name]!;
    const other = pick(shops.filter((one) => one !== shop)).keys;
    for (; ; refused++) {
      const { status, headers } = await sendKind(shop.keys, call, other);
      const month = headers.get('x-month-requests');
      if (month !== null) {
        add(expected.get(shop)!, call.operation);
        largest.set(shop, Math.max(largest.get(shop) ?? 0, Number(month)));
      }
      if (status === BUSY) continue;
      assert.ok(statuses.includes(status), `${call.operation}, ${name}: ${status}`);
      assert.equal(month !== null, isCounted, `${call.operation}, ${name}: X-Month-Requests is ${month}`);
      return status;
    }
  };
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const shop = pick(shops);
      const good = pick(shop.calls);
      const idempotency = good.kind === 'write' ? { 'idempotency-key': randomUUID() } : ({} as Record<string, string>);
      const name = Math.random() < 0.5 ? 'good' : pick(names);
      const status = await sendUntilTaken(shop, { ...good, idempotency }, name);
      if (status === 200 && good.operation in MAKES) add(made.get(shop)!, good.operation);
    }
  };
  // While no time passes for the service, it does not give up calls because the machine is busy.
  await service.stand();
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  await service.pass();
  context.diagnostic(`${refused} calls were refused as the service was busy`);

  for (const { shop, sums, total } of await sumUsage()) {
    assert.deepEqual(Object.fromEntries(sums), Object.fromEntries(expected.get(shop)!));
    assert.equal(
      total,
      sums.values().reduce((sum, calls) => sum + calls, 0),
    );
    assert.equal(largest.get(shop), total, 'the largest X-Month-Requests');
    assert.deepEqual(
      await countRecords(shop),
      Object.fromEntries(made.get(shop)!),
      'one record for each that was made',
    );
  }
});
