/**
 * Tests the request log in the dashboard: finding a call by the ID of its response, filters and pages. It has no calls
 * that were not authenticated, and none of a removed tenant with the same name.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AnswerOf } from '../../src/http/dashboard/interface.ts';
import { times, valuesOf } from '../kit/lists.ts';
import type { Answer } from '../kit/service.ts';
import { openScene, openTenant } from './scene.ts';
import { expectCode, Visitor } from './visitor.ts';

const SECRET = `sr_sk_${'Ab3'.repeat(16)}Z`;

const service = await openScene();
const shared = await openTenant(service);

const idOf = ({ headers }: Pick<Answer, 'headers'>): string => headers.get('x-request-id')!;
const searchOf = (visitor: Visitor, query: object = {}) => visitor.ask('GET /requests', query);
const singleOf = (visitor: Visitor, answer: Pick<Answer, 'headers'>) =>
  visitor.ask('GET /requests/single', { requestID: idOf(answer) });
const expectNone = (visitor: Visitor, answer: Pick<Answer, 'headers'>) =>
  expectCode(visitor.get('/requests/single', { requestID: idOf(answer) }), '404 NOT_FOUND');

suite('a request', () => {
  test('is found at once and whole by the X-Request-Id of its response', async () => {
    const { owner, keys } = shared;
    const began = service.timeAt();
    const good = await service.call(keys, 'PUT', '/orders/create', {
      body: { NOTES: 'for the log' },
      headers: { 'x-forwarded-for': '203.0.113.9' },
    });
    const { at, milliseconds, ...rest } = await singleOf(owner, good);
    assert.ok(at >= began && at <= service.timeAt() && milliseconds >= 0);
    assert.deepEqual(rest, {
      requestID: idOf(good),
      operation: 'createOrder',
      method: 'PUT',
      path: '/tenant/api/pims/v1/orders/create',
      httpStatus: 200,
      client: '203.0.113.9',
      apiID: keys.apiID,
      keyName: 'default',
      explorerUser: null,
      code: null,
      message: null,
      remedy: null,
      field: null,
      query: {},
      body: '{"NOTES":"for the log"}',
    });
  });

  test('of the explorer has the name of its user, and no key', async () => {
    const { owner } = shared;
    const explored = await owner.get('/explorer/orders/single', { orderNum: 'nothing' });
    const body = await singleOf(owner, explored);
    assert.deepEqual(
      [body.explorerUser, body.apiID, body.keyName, body.operation, body.httpStatus, body.query],
      [owner.email, null, null, 'getOrder', 404, { orderNum: 'nothing' }],
    );
    await expectNone(owner, await owner.get('/records/orders/single', { orderNum: 'nothing' }));
  });

  test('that was refused has the code, field and message of the response', async () => {
    const { owner, keys } = shared;
    const refused = [
      await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_DATE: 'tomorrow' } }),
      await service.call(keys, 'POST', '/orders/query', { body: [{ field: 'COLOUR', value: 'red' }] }),
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nothing' } }),
      await service.call(keys, 'GET', '/orders/single'),
      await service.call(keys, 'POST', '/orders/query', { body: '{' }),
      await service.call(keys, 'POST', '/orders/query', { body: '[]', headers: { 'content-type': 'text/plain' } }),
    ];
    for (const answer of refused) {
      const body = await singleOf(owner, answer);
      const { code, message, field = null } = answer.body as { code: string; message: string; field?: string };
      assert.deepEqual([body.httpStatus, body.code, body.message, body.field], [answer.status, code, message, field]);
      assert.ok(body.remedy, code);
    }
  });

  test('that was not authenticated is in no log, for any teamID in it', async () => {
    const { owner, keys, teamID } = shared;
    const bad = [
      await service.call({ ...keys, apiSecret: SECRET }, 'POST', '/orders/query', { body: [] }),
      await service.request('POST', '/orders/query', { query: { teamID }, body: [] }),
      await service.request('POST', '/orders/query', { body: [] }),
    ];
    for (const answer of bad) await expectNone(owner, answer);
    assert.deepEqual((await searchOf(owner, { status: '401' })).requests, []);
  });

  test('of another tenant is not found, even if its ID is known', async () => {
    const [one, two] = [shared, await openTenant(service)];
    const answer = await service.call(one.keys, 'PUT', '/orders/create', { body: { NOTES: 'private' } });
    await singleOf(one.owner, answer);
    await expectNone(two.owner, answer);
  });

  test('of a removed tenant is gone when the tenant is created again', async () => {
    const { owner, keys, teamID } = await openTenant(service);
    const answer = await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'before' } });
    await singleOf(owner, answer);
    assert.equal((await service.command('tenant', 'remove', teamID, '--yes')).code, 0);
    await service.makeTenant(teamID);
    const anew = await Visitor.make(service, teamID, 'owner');
    assert.deepEqual((await searchOf(anew)).requests, []);
    await expectNone(anew, answer);
    const { total, refused, months } = await anew.ask('GET /usage');
    assert.deepEqual([total, refused, months], [0, 0, []]);
    const actors = valuesOf((await anew.ask('GET /audit')).records, 'actor');
    assert.deepEqual(new Set(actors), new Set(['command line', anew.email]));
  });

  test('of a removed tenant, if saved only later, is not shown when the tenant is created again', async () => {
    const { keys, teamID } = await openTenant(service);
    await service.stand();
    const answer = await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'before' } });
    assert.equal((await service.command('tenant', 'remove', teamID, '--yes')).code, 0);
    await service.move(1);
    await service.makeTenant(teamID);
    await service.pass();
    const anew = await Visitor.make(service, teamID, 'owner');
    assert.deepEqual((await searchOf(anew)).requests, []);
    await expectNone(anew, answer);
  });
});

suite('the log', () => {
  test('is paged by cursor: each of 120 requests once, newest first, while others arrive', async () => {
    const { owner, keys } = shared;
    const ids: string[] = [];
    for (let round = 0; round < 12; round++) {
      const calls = times(10, () => service.call(keys, 'POST', '/inventory/query', { body: [] }));
      ids.push(...(await Promise.all(calls)).map(idOf));
    }
    const seen: AnswerOf<'GET /requests'>['requests'] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const page = await searchOf(owner, { operation: 'queryInventoryItems', ...(cursor !== '' && { cursor }) });
      assert.ok(page.requests.length <= 50);
      seen.push(...page.requests);
      cursor = page.next;
      await service.call(keys, 'POST', '/inventory/query', { body: [] });
    }
    assert.deepEqual(valuesOf(seen, 'requestID').toSorted(), ids.toSorted());
    assert.deepEqual(valuesOf(seen, 'at'), valuesOf(seen, 'at').toSorted().toReversed());
    assert.equal(pages, 3);
  });
});

test('requests can be searched by key, error code, failure and order', async () => {
  const { owner, keys, teamID } = await openTenant(service);
  const second = await owner.ask('POST /keys', { name: 'second', scope: 'write' });
  const other = { teamID, apiID: second.apiID, apiSecret: second.apiSecret };
  const order = { ORDER_NUMBER: 'S-1' };
  await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'S-1' } });
  await service.call(other, 'POST', '/orders/update', { body: { ...order, NOTES: 'x' } });
  await service.call(other, 'POST', '/orders/query', { body: [] });
  await owner.post('/explorer/orders/query', []);
  const found = async (query: object) => (await searchOf(owner, query)).requests.map(({ operation }) => operation);
  assert.deepEqual(await found({ key: keys.apiID }), ['getOrder']);
  assert.deepEqual(await found({ key: second.apiID }), ['queryOrders', 'updateOrder']);
  assert.deepEqual(await found({ key: 'explorer' }), ['queryOrders']);
  assert.deepEqual(await found({ code: 'ORDER_NOT_FOUND' }), ['updateOrder']);
  assert.deepEqual(await found({ status: 'failed' }), ['updateOrder', 'getOrder']);
  assert.deepEqual(await found({ order: 'S-1' }), ['updateOrder', 'getOrder']);
  assert.deepEqual(await found({ order: 'S-1', key: keys.apiID }), ['getOrder']);
});

test('the last 100 calls with wrong credentials are shown without secrets to developers only', async () => {
  const { owner, keys, teamID } = await openTenant(service);
  const wrong = { ...keys, apiSecret: SECRET };
  for (let call = 0; call < 101; call++)
    await service.call(wrong, 'GET', '/orders/single', { query: { orderNum: '1' } });
  await service.call({ ...wrong, apiID: 'sr_id_unknown' }, 'POST', '/orders/query', { body: [] });
  const { calls } = await owner.ask('GET /requests/rejected');
  assert.equal(calls.length, 100);
  const [{ at, client, ...newest }] = calls as [(typeof calls)[0]];
  assert.deepEqual(newest, { method: 'POST', path: '/tenant/api/pims/v1/orders/query', apiID: 'sr_id_unknown' });
  assert.ok(at <= service.timeAt() && client !== '');
  assert.equal(calls[1]!.apiID, keys.apiID.slice(0, 14));
  const text = JSON.stringify(calls);
  assert.ok(!text.includes(SECRET) && !text.includes('orderNum') && !text.includes(keys.apiID));
  const { owner: stranger } = await openTenant(service);
  assert.deepEqual((await stranger.ask('GET /requests/rejected')).calls, []);
  assert.equal((await service.call(keys, 'POST', '/orders/query', { body: [] })).status, 200, teamID);
  assert.equal((await owner.ask('GET /requests/rejected')).calls.length, 100);
});
