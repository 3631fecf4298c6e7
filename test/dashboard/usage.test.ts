/**
 * Usage in the dashboard: the figures of `storeroom usage` whatever was called and however, what a quota refuses, and the months before this one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stockShop } from '../kit/operations.ts';
import { BASE_PATH } from '../kit/service.ts';
import { WRITES } from './routes.ts';
import { openScene, openTenant, runSql } from './scene.ts';
import { Visitor } from './visitor.ts';

const SECRET = `sr_sk_${'Ab3'.repeat(16)}Z`;

interface Usage {
  month: string;
  total: number;
  refused: number;
  monthQuota: number | null;
  rows: { day: string; operation: string; calls: number; refused: number }[];
  months: { month: string; calls: number }[];
}

const service = await openScene();

const usageOf = async (visitor: Visitor, query: Record<string, string> = {}): Promise<Usage> =>
  (await visitor.get('/usage', query)).body as Usage;

test('usage is the figure of `storeroom usage` after any calls: answered, refused, of the explorer; records looked at cost nothing', async () => {
  const teamID = 'stocked';
  const { keys, calls } = await stockShop(service, teamID);
  const owner = await Visitor.make(service, teamID, 'owner');
  for (const { method, path, query, filters, fields } of calls)
    await service.call(keys, method, path, { query, body: filters ?? fields });
  for (let call = 0; call < 3; call++)
    await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nothing' } });
  await service.call(keys, 'POST', '/orders/query', { body: '{' });
  await service.call({ ...keys, apiSecret: SECRET }, 'POST', '/orders/query', { body: [] });
  const earlier = await service.usageOf(teamID);
  for (let call = 0; call < 5; call++) {
    assert.equal((await owner.post('/records/orders/query', [])).status, 200);
    assert.equal((await owner.get('/records/orders/single', { orderNum: 'nothing' })).status, 404);
  }
  assert.equal(await service.usageOf(teamID), earlier, 'looking at records was counted');
  assert.equal((await owner.post('/explorer/orders/query', [])).headers.get('x-month-requests'), String(earlier + 1));
  assert.equal((await owner.get('/explorer/customers/single', { customerCode: 'nothing' })).status, 404);

  const usage = await usageOf(owner);
  const told = (await service.command('usage', teamID, '--json')).json() as {
    total: number;
    byOperation: { operation: string; calls: number }[];
  };
  assert.equal(usage.total, earlier + 2);
  assert.equal(usage.total, told.total);
  const sums = new Map<string, number>();
  for (const { operation, calls: counted } of usage.rows) sums.set(operation, (sums.get(operation) ?? 0) + counted);
  assert.deepEqual(
    Object.fromEntries(sums),
    Object.fromEntries(told.byOperation.map(({ operation, calls: counted }) => [operation, counted])),
  );
  assert.equal(usage.refused, 5);
  const refusedOf = usage.rows
    .filter(({ refused }) => refused > 0)
    .map(({ operation, refused }) => [operation, refused]);
  assert.deepEqual(Object.fromEntries(refusedOf), { getCustomer: 1, getOrder: 3, queryOrders: 1 });
  assert.deepEqual(
    [usage.month, usage.monthQuota, usage.months],
    [new Date().toISOString().slice(0, 7), null, [{ month: usage.month, calls: usage.total }]],
  );
});

test('a write goes in by the explorer, counted, and in no way by the record pages', async () => {
  const { owner, teamID, keys } = await openTenant(service);
  const { paths } = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const writes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => WRITES.includes(operationId))
      .map(([method]) => ({ method: method.toUpperCase(), path: path.slice(BASE_PATH.length) })),
  );
  assert.equal(writes.length, WRITES.length);
  const ofRecords = async (): Promise<unknown> =>
    Promise.all(['orders', 'customers'].map(async (kind) => (await owner.post(`/records/${kind}/query`, [])).body));
  const [records, counted] = [await ofRecords(), await service.usageOf(teamID)];
  for (const { method, path } of writes) {
    const { status, text } = await owner.send(method, `/dashboard/api/records${path}`, '{"CUSTOMER_NAME":"x"}');
    assert.ok(status === 404 || status === 405, `${method} ${path}: ${status} ${text}`);
  }
  assert.deepEqual(await ofRecords(), records);
  assert.equal(await service.usageOf(teamID), counted);
  const made = await owner.send('PUT', '/dashboard/api/explorer/orders/create', '{}');
  assert.deepEqual([made.status, made.headers.get('x-month-requests')], [200, String(counted + 1)]);
  // A person who approves an order makes no call of the API.
  const quote = await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_TYPE: 'quote' } });
  assert.equal((await owner.post('/orders/approve', { ORDER_NUMBER: quote.body.data as string })).status, 200);
  assert.equal(await service.usageOf(teamID), counted + 2);
});

test('usage shows a quota, and calls beyond it as refused', async () => {
  const { owner, keys, teamID } = await openTenant(service, '--quota', '5');
  assert.equal((await usageOf(owner)).monthQuota, 5);
  const statuses: number[] = [];
  for (let call = 0; call < 8; call++)
    statuses.push((await service.call(keys, 'POST', '/orders/query', { body: [] })).status);
  const { total, refused } = await usageOf(owner);
  assert.equal(total, await service.usageOf(teamID));
  assert.equal(refused, statuses.filter((status) => status === 429).length);
  assert.ok(refused > 0 && total - refused === 5, `${total} − ${refused}`);
  const { requests } = (await owner.get('/requests', { status: '429' })).body as { requests: { code: string }[] };
  assert.deepEqual([...new Set(requests.map(({ code }) => code))], ['QUOTA_EXCEEDED']);
});

test('usage of earlier months is there, newest first; a month that is none is refused', async () => {
  const { owner, teamID } = await openTenant(service);
  for (const [month, calls] of [
    ['2026-02', 7],
    ['2025-12', 30],
  ] as const) {
    // prettier-ignore
    await runSql(service, `INSERT INTO @USAGE VALUES ('${teamID}', '${month}-03', 'getOrder', ${calls})`, 'usage.db');
    await runSql(service, `INSERT INTO @USAGE_MONTHS VALUES ('${teamID}', '${month}', ${calls})`, 'usage.db');
  }
  assert.equal((await owner.get('/explorer/orders/single', { orderNum: 'nothing' })).status, 404);
  const { months, total } = await usageOf(owner);
  assert.deepEqual(months.slice(1), [{ month: '2026-02', calls: 7 }, { month: '2025-12', calls: 30 }]); // prettier-ignore
  assert.equal(months[0]!.calls, total);
  const { rows, total: earlier } = await usageOf(owner, { month: '2025-12' });
  assert.deepEqual([earlier, rows], [30, [{ day: '2025-12-03', operation: 'getOrder', calls: 30, refused: 0 }]]);
  assert.equal((await usageOf(owner, { month: '2020-01' })).total, 0);
  for (const month of ['2025-13', '2025', '', 'x', '2025-12-01', '٢٠٢٥-١٢'])
    assert.equal((await owner.get('/usage', { month })).status, 400, month);
});
