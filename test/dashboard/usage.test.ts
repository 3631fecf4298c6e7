/** Tests usage in the dashboard: its figures are those of `storeroom usage`, and quotas and earlier months work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valuesOf } from '../kit/lists.ts';
import { stockShop } from '../kit/operations.ts';
import { openScene, openTenant, runSql } from './scene.ts';
import { expectCode, expectOk, Visitor } from './visitor.ts';

const SECRET = `sr_sk_${'Ab3'.repeat(16)}Z`;

const service = await openScene();

test('usage is the figure of `storeroom usage` after any calls; viewing records is not counted', async () => {
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
    await expectOk(owner.post('/records/orders/query', []));
    await expectCode(owner.get('/records/orders/single', { orderNum: 'nothing' }), '404 NOT_FOUND');
  }
  assert.equal(await service.usageOf(teamID), earlier, 'looking at records was counted');
  assert.equal((await owner.post('/explorer/orders/query', [])).headers.get('x-month-requests'), String(earlier + 1));
  await expectCode(owner.get('/explorer/customers/single', { customerCode: 'nothing' }), '404 NOT_FOUND');

  const usage = await owner.ask('GET /usage');
  const told = (await service.command('usage', teamID, '--json')).json() as {
    total: number;
    byOperation: { operation: string; calls: number }[];
  };
  assert.equal(usage.total, earlier + 2);
  assert.equal(usage.total, told.total);
  const sums: Record<string, number> = {};
  for (const { operation, calls: counted } of usage.rows) sums[operation] = (sums[operation] ?? 0) + counted;
  assert.deepEqual(sums, Object.fromEntries(told.byOperation.map((one) => [one.operation, one.calls])));
  assert.equal(usage.refused, 5);
  const refusals = usage.rows.filter(({ refused }) => refused > 0).map((one) => [one.operation, one.refused]);
  assert.deepEqual(Object.fromEntries(refusals), { getCustomer: 1, getOrder: 3, queryOrders: 1 });
  assert.deepEqual([usage.month, usage.monthQuota], [service.timeAt().slice(0, 7), null]);
  assert.deepEqual(usage.months, [{ month: usage.month, calls: usage.total }]);
});

test('a write of the explorer counts, one of the pages does not, and the audit log has both', async () => {
  const { owner, teamID, keys } = await openTenant(service);
  const counted = await service.usageOf(teamID);
  const made = await owner.send('PUT', '/dashboard/api/explorer/orders/create', '{"NOTES":"x"}');
  assert.deepEqual([made.status, made.headers.get('x-month-requests')], [200, String(counted + 1)]);
  const clerk = await owner.add('clerk');
  const line = { ORDER_NUMBER: '$0.data', QUANTITY: '2' };
  const steps = [
    { operation: 'createOrder', body: { NOTES: 'secret words' } },
    { operation: 'addLineItem', body: line },
  ];
  const { body } = await expectOk(clerk.post('/records/batch', steps));
  const number = body.data[0].data as string;
  await expectOk(clerk.post('/records/orders/update', { ORDER_NUMBER: number, NOTES: 'y', SHIP_VIA: 'z' }));
  await expectCode(clerk.post('/records/orders/update', { ORDER_NUMBER: 'none', NOTES: 'y' }), '400 ORDER_NOT_FOUND');
  await expectCode(clerk.post('/records/batch', [{ operation: 'none', body: {} }]), '400 UNKNOWN_OPERATION');
  await expectCode(clerk.post('/explorer/orders/cancel', { ORDER_NUMBER: number }), '403 ROLE_NOT_ALLOWED');
  // Approving an order in the dashboard is not a call of the API either.
  const quote = await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_TYPE: 'quote' } });
  assert.equal((await clerk.post('/records/orders/approve', { ORDER_NUMBER: quote.body.data as string })).status, 200);
  assert.equal(await service.usageOf(teamID), counted + 2);

  const { records } = await owner.ask('GET /audit');
  const written = records.filter(({ action }) => /^[a-z]+[A-Z]|^batch/.test(action)).toReversed();
  assert.deepEqual(
    written.map(({ actor, action, target, detail }) => [actor, action, target, detail]),
    [
      [owner.email, 'createOrder', made.body.data, { fields: 'NOTES' }],
      [clerk.email, 'batch', number, { steps: 'createOrder addLineItem' }],
      [clerk.email, 'updateOrder', number, { fields: 'ORDER_NUMBER NOTES SHIP_VIA' }],
      [clerk.email, 'approveOrder', quote.body.data, { fields: 'ORDER_NUMBER' }],
    ],
  );
});

test('usage shows a quota, and calls beyond it as refused', async () => {
  const { owner, keys, teamID } = await openTenant(service, '--quota', '5');
  assert.equal((await owner.ask('GET /usage')).monthQuota, 5);
  const statuses: number[] = [];
  for (let call = 0; call < 8; call++)
    statuses.push((await service.call(keys, 'POST', '/orders/query', { body: [] })).status);
  const { total, refused } = await owner.ask('GET /usage');
  assert.equal(total, await service.usageOf(teamID));
  assert.equal(refused, statuses.filter((status) => status === 429).length);
  assert.ok(refused > 0 && total - refused === 5, `${total} − ${refused}`);
  const { requests } = await owner.ask('GET /requests', { status: '429' });
  assert.deepEqual([...new Set(valuesOf(requests, 'code'))], ['QUOTA_EXCEEDED']);
});

test('usage lists earlier months, newest first; an invalid month is refused', async () => {
  const { owner, teamID } = await openTenant(service);
  const earlier = [
    { month: '2026-02', calls: 7 },
    { month: '2025-12', calls: 30 },
  ];
  for (const { month, calls } of earlier) {
    await runSql(service, `INSERT INTO @USAGE VALUES ('${teamID}', '${month}-03', 'getOrder', ${calls})`, 'usage.db');
    await runSql(service, `INSERT INTO @USAGE_MONTHS VALUES ('${teamID}', '${month}', ${calls})`, 'usage.db');
  }
  await expectCode(owner.get('/explorer/orders/single', { orderNum: 'nothing' }), '404 NOT_FOUND');
  const { months, total } = await owner.ask('GET /usage');
  assert.deepEqual(months.slice(1), earlier);
  assert.equal(months[0]!.calls, total);
  const december = await owner.ask('GET /usage', { month: '2025-12' });
  assert.deepEqual(
    [december.total, december.rows],
    [30, [{ day: '2025-12-03', operation: 'getOrder', calls: 30, refused: 0 }]],
  );
  assert.equal((await owner.ask('GET /usage', { month: '2020-01' })).total, 0);
  for (const month of ['2025-13', '2025', '', 'x', '2025-12-01', '٢٠٢٥-١٢'])
    assert.equal((await owner.get('/usage', { month })).status, 400, month);
});

test('429 owners can set a limit below the one of the operator, and the lower one applies', async () => {
  const { owner, keys, teamID } = await openTenant(service, '--quota', '6');
  const { name, defaultStage, strict } = await owner.ask('GET /settings');
  const settings = { name, defaultStage, strict };
  assert.equal((await owner.ask('POST /settings', { ...settings, ownQuota: 3 })).ownQuota, 3);
  const read = () => service.call(keys, 'POST', '/orders/query', { body: [] });
  for (let call = 1; call <= 3; call++) {
    const { status, headers } = await read();
    assert.equal(status, 200);
    assert.match(headers.get('ratelimit')!, new RegExp(`"quota";r=${3 - call};`));
  }
  assert.equal((await read()).status, 429);
  const session = await owner.ask('GET /session');
  assert.deepEqual([session.monthCalls, session.monthQuota], [4, 3]);
  assert.equal((await owner.ask('GET /usage')).monthQuota, 3);
  // Settings without the limit keep it. null removes it, and the operator's limit remains.
  await owner.ask('POST /settings', settings);
  assert.equal((await read()).status, 429);
  await owner.ask('POST /settings', { ...settings, ownQuota: null });
  assert.equal((await read()).status, 200);
  assert.equal((await read()).status, 429);
  await expectCode(owner.post('/settings', { ...settings, ownQuota: 0 }), '400 INVALID_VALUE');
  const developer = await owner.add('developer');
  await expectCode(developer.post('/settings', { ...settings, ownQuota: 9 }), '403 ROLE_NOT_ALLOWED');
  const shown = (await service.command('tenant', 'list', '--json')).json() as { tenants: { teamID: string }[] };
  assert.ok(shown.tenants.some((tenant) => tenant.teamID === teamID));
});
