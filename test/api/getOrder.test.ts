/** getOrder: GET /orders/single. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Service, type Keys } from '../service.ts';

let service: Service;
let keys: Keys;
before(async () => {
  service = await Service.start();
  keys = await service.makeTenant('shop');
});
after(() => service.stop());

test('200 an order without lines has subRecords null', async () => {
  const created = await service.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: '#1', ORDER_DATE: '3/4/2026' } });
  assert.equal(created.status, 200);
  const { status, body } = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: created.body.data } });
  assert.equal(status, 200);
  assert.equal(body.subRecords, null);
  assert.equal(body.data.ORDER_DATE, '03/04/2026');
});

test('404 NOT_FOUND names the order that does not exist', async () => {
  const { status, body } = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nope' } });
  assert.equal(status, 404);
  assert.equal(body.code, 'NOT_FOUND');
  assert.match(body.message, /nope/);
});
