/** Tests that calls are counted before they are answered, and the limits of a tenant. Each test has its own tenant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times, valuesOf } from '../kit/lists.ts';
import { basicOf, sendBy, stockShop, waysOf } from '../kit/operations.ts';
import { expectRefusal } from '../kit/records.ts';
import { type Answer, type Keys, Service, sharedService } from '../kit/service.ts';

const service = await sharedService();

interface Usage {
  teamID: string;
  month: string;
  total: number;
  byDay: { day: string; calls: number }[];
  byOperation: { operation: string; calls: number }[];
  byKey: { apiID: string; name: string; calls: number }[];
}

const loadUsage = async (teamID: string, ...options: string[]): Promise<Usage> =>
  (await service.command('usage', teamID, '--json', ...options)).json() as Usage;
const monthRequests = ({ headers }: Answer): number | null =>
  headers.has('x-month-requests') ? Number(headers.get('x-month-requests')) : null;
const list = (keys: Keys, body: unknown = []): Promise<Answer> => service.call(keys, 'POST', '/orders/query', { body });

// Holds S1.7, S4.1, S4.2.
test('every authenticated call counts once, whether it succeeds or not, and its response has the total', async () => {
  const keys = await service.makeTenant('exact');
  const create = (body: unknown, key?: string): Promise<Answer> =>
    service.call(keys, 'PUT', '/orders/create', { body, headers: key === undefined ? {} : { 'idempotency-key': key } });
  const answers = [
    await create({}),
    await create({ NO_SUCH: '1' }),
    await create('{'),
    await create({}, 'a b'),
    await create({ NOTES: 'a' }, 'key'),
    await create({ NOTES: 'a' }, 'key'),
    await create({ NOTES: 'b' }, 'key'),
    await service.call(keys, 'PUT', '/orders/create', { body: 'x', headers: { 'content-type': 'text/plain' } }),
    await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'none' } }),
    await service.call(keys, 'GET', '/orders/single', { query: { noSuch: '1' } }),
    await service.call(keys, 'PUT', '/orders/line_item', { body: { ORDER_NUMBER: 'none' } }),
    await list(keys),
  ];
  const statuses = [200, 400, 400, 400, 200, 200, 422, 415, 404, 400, 400, 200];
  assert.deepEqual(valuesOf(answers, 'status'), statuses);
  assert.equal(answers[5]!.headers.get('idempotent-replayed'), 'true', 'a replay is a call like any other');
  assert.deepEqual(answers.map(monthRequests), range(answers.length));
  assert.equal(await service.usageOf('exact'), answers.length);
});

// Holds S4.1.
test('no other call is counted: no 401, no missing teamID, no unknown path or method, no service path', async () => {
  const keys = await service.makeTenant('uncounted');
  assert.equal(monthRequests(await list(keys)), 1);
  const answers = [
    await list({ ...keys, apiSecret: 'wrong' }),
    await list({ ...keys, teamID: 'nobody' }),
    await list({ ...keys, teamID: '' }),
    await service.request('POST', '/orders/query', { body: [] }),
    await service.call(keys, 'POST', '/orders/query', { query: { teamID: 'another' }, body: [] }),
    await service.call(keys, 'GET', '/orders'),
    await service.call(keys, 'GET', '/orders/query'),
    await service.call(keys, 'DELETE', '/orders/single'),
  ];
  assert.deepEqual(valuesOf(answers, 'status'), [401, 401, 400, 400, 400, 404, 405, 405]);
  for (const answer of answers) assert.equal(monthRequests(answer), null);
  const headers = { authorization: basicOf(keys) };
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/']) {
    const answer = await fetch(`${service.origin}${path}?teamID=uncounted`, { headers });
    assert.ok(!answer.headers.has('x-month-requests'), path);
  }
  assert.equal(monthRequests(await list(keys)), 2);
  assert.equal(await service.usageOf('uncounted'), 2);
});

// Holds S13.6.
test('usage lists the calls of a month by day and by operation, under the names of the contract', async () => {
  const day = service.timeAt().slice(0, 10);
  const { shop, calls, keys } = await stockShop(service, 'itemised');
  const stocked = await loadUsage('itemised');
  for (const call of calls)
    for (const way of waysOf(call)) assert.equal((await sendBy(way, service, call, keys)).status, 200);
  await shop.getOrder('none');
  const usage = await loadUsage('itemised');
  const made = ({ operation }: { operation: string }): number =>
    stocked.byOperation.find((one) => one.operation === operation)?.calls ?? 0;
  const expected = calls.map(
    (call) => [call.operation, made(call) + waysOf(call).length + (call.operation === 'getOrder' ? 1 : 0)] as const,
  );
  const told = usage.byOperation.map(({ operation, calls: count }) => [operation, count] as const);
  assert.deepEqual(new Map(told), new Map(expected));
  const sum = (counts: { calls: number }[]): number => counts.reduce((total, one) => total + one.calls, 0);
  assert.deepEqual([sum(usage.byDay), sum(usage.byOperation)], [usage.total, usage.total]);
  assert.equal(usage.month, day.slice(0, 7));
  assert.deepEqual(usage.byDay, [{ day, calls: usage.total }]);
  const none = { teamID: 'itemised', month: '2020-02', total: 0, byDay: [], byOperation: [], byKey: [] };
  assert.deepEqual(await loadUsage('itemised', '--month', '2020-02'), none);
});

// Holds S4.1, S4.3.
test('a call is counted on disk before its response: a killed service loses none', async (context) => {
  const killed = await Service.start();
  context.after(() => killed.stop());
  const keys = await killed.makeTenant('durable');
  const call = () => killed.call(keys, 'POST', '/orders/query', { body: [] });
  const totals = (await Promise.all(times(300, call))).map(monthRequests);
  await killed.stop('SIGKILL');
  assert.equal(Math.max(...totals.map(Number)), 300);
  assert.equal(await killed.usageOf('durable'), 300);
  await killed.restart();
  assert.equal(monthRequests(await call()), 301);
});

test('calls of several tenants at once are each counted to their own tenant', async () => {
  const tenants = await Promise.all(['one', 'two', 'three'].map((teamID) => service.makeTenant(teamID)));
  const sending = times(120, (index) => {
    const keys = tenants[index % 3]!;
    return list(index % 4 === 0 ? { ...keys, apiSecret: 'wrong' } : keys, index % 5 === 0 ? {} : []);
  });
  const good = (await Promise.all(sending)).filter((answer) => answer.status !== 401);
  assert.equal(good.length, 90);
  assert.deepEqual(await Promise.all(tenants.map(({ teamID }) => service.usageOf(teamID))), [30, 30, 30]);
});

/** Returns the whole seconds until the next month. */
function secondsLeft(): number {
  const time = new Date(service.now());
  return Math.ceil((Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1) - time.getTime()) / 1000);
}

// Holds S4.4, S4.5.
test('429 QUOTA_EXCEEDED once the month is used up, counted like any call, until the next month', async () => {
  const keys = await service.makeTenant('quota', '--quota', '3');
  for (let call = 1; call <= 3; call++) assert.equal((await list(keys)).status, 200, `call ${call}`);
  const most = secondsLeft();
  const refused = await service.call(keys, 'PUT', '/orders/create', { body: {} });
  const least = secondsLeft();
  assert.match(expectRefusal(refused, 429, 'QUOTA_EXCEEDED'), /quota of 3 requests/);
  assert.equal(monthRequests(refused), 4);
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(
    Number.isInteger(seconds) && seconds >= least && seconds <= most,
    `Retry-After ${seconds}, ${least} s left`,
  );
  expectRefusal(await list({ ...keys, apiSecret: 'wrong' }), 401, 'INVALID_CREDENTIALS');
  expectRefusal(await list(keys, {}), 429, 'QUOTA_EXCEEDED');
  assert.equal(await service.usageOf('quota'), 5);
  await service.command('tenant', 'set', 'quota', '--quota', 'none');
  const { body } = await list(keys);
  assert.deepEqual(body.data, [], 'a refused create has created nothing');
});

// Holds S3.13, S4.4.
test('429 RATE_LIMITED beyond the calls per second of all operations; other tenants are not slowed', async () => {
  const { calls, keys } = await stockShop(service, 'rate');
  const free = await service.makeTenant('free');
  await service.command('tenant', 'set', 'rate', '--rate', '0.001');
  const answers = [];
  for (const call of calls.slice(0, 6)) answers.push(await sendBy('Basic', service, call, keys));
  assert.equal(answers[0]!.status, 200);
  const refused = answers.slice(1);
  for (const answer of refused) {
    assert.match(expectRefusal(answer, 429, 'RATE_LIMITED'), /exceeded \(0\.001 per second\)/);
    assert.equal(answer.headers.get('retry-after'), '1000');
  }
  const totals = answers.map(monthRequests);
  const expected = times(totals.length, (index) => totals[0]! + index);
  assert.deepEqual(totals, expected, 'a refused call is counted like any other');
  assert.equal((await list(free)).status, 200);
  expectRefusal(await list({ ...keys, apiSecret: 'wrong' }), 401, 'INVALID_CREDENTIALS');
  await service.command('tenant', 'set', 'rate', '--rate', 'none');
  assert.equal((await list(keys)).status, 200);
});

test('429 for a tenant at its quota or rate comes before every other error of the call, even in its body', async () => {
  const faults: [method: 'PUT' | 'GET', path: string, more: Parameters<Service['call']>[3]][] = [
    ['PUT', '/orders/create', { body: '{' }],
    ['PUT', '/orders/create', { body: '[]' }],
    ['PUT', '/orders/create', { body: { NO_SUCH: '1' } }],
    ['PUT', '/orders/create', { body: `"${' '.repeat(256 * 1024)}"` }],
    ['PUT', '/orders/create', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['PUT', '/orders/create', { body: {}, headers: { 'idempotency-key': 'a b' } }],
    ['PUT', '/orders/create', { body: {}, query: { noSuch: '1' } }],
    ['GET', '/orders/single', {}],
  ];
  for (const [limit, most, code] of [
    ['--quota', '1', 'QUOTA_EXCEEDED'],
    ['--rate', '0.001', 'RATE_LIMITED'],
  ] as const) {
    const keys = await service.makeTenant(`over${limit}`, limit, most);
    assert.equal((await list(keys)).status, 200);
    for (const [index, [method, path, more]] of faults.entries()) {
      const answer = await service.call(keys, method, path, more);
      expectRefusal(answer, 429, code);
      assert.equal(monthRequests(answer), index + 2, 'it is counted like any call');
    }
  }
});

// Holds S4.4.
test('a tenant has no quota and no rate by default', async () => {
  const keys = await service.makeTenant('unlimited');
  const { tenants } = (await service.command('tenant', 'list', '--json')).json();
  const { monthQuota, callsPerSecond } = tenants.find((one: Keys) => one.teamID === 'unlimited');
  assert.deepEqual([monthQuota, callsPerSecond], [null, null]);
  for (let calls = 0; calls < 200; calls += 50) {
    const answers = await Promise.all(times(50, () => list(keys)));
    assert.deepEqual([...new Set(valuesOf(answers, 'status'))], [200]);
  }
});
