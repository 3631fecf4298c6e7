/** updateCustomer: POST /customers/update. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, sampleOf, Shop, succeed } from '../kit/records.ts';

const shop = await Shop.shared();
const refuses = shop.refuses.bind(shop, shop.updateCustomer);

const newCustomer = (fields: Record<string, unknown> = {}): Promise<string> =>
  succeed<string>(shop.createCustomer(fields));
const update = (CUSTOMER_CODE: unknown, change: Record<string, unknown>): Promise<string> =>
  succeed<string>(shop.updateCustomer({ CUSTOMER_CODE, ...change }));

test('200 data is the CUSTOMER_CODE; only what was sent changes', async () => {
  const code = await newCustomer({ CUSTOMER_NAME: 'Harbour Lane Books', BCITY: 'Portland', NOTES: 'old' });
  const earlier = await succeed(shop.getCustomer(code));
  assert.equal(await update(code, { BPHONE: '26.47.15.10', NOTES: 'new' }), code);
  const now = await succeed(shop.getCustomer(code));
  assert.deepEqual(
    { ...now, MODIFIED_DATE: '' },
    { ...earlier, BPHONE: '26.47.15.10', NOTES: 'new', MODIFIED_DATE: '' },
  );
  assert.ok(now['MODIFIED_DATE']! >= earlier['MODIFIED_DATE']!);
});

test('200 every CUSTOMER field can be changed', async () => {
  const code = await newCustomer(sampleOf('customers', 1));
  const { CUSTOMER_CODE: _, ...sent } = sampleOf('customers', 2);
  await update(code, sent);
  const got = await succeed(shop.getCustomer(code));
  assert.deepEqual({ ...got, ...sent }, got);
});

test('200 null and "" clear a field', async () => {
  const code = await newCustomer({ BCITY: 'Portland', CREDIT_LIMIT: '5', NOTES: 'old' });
  await update(code, { BCITY: null, CREDIT_LIMIT: null, NOTES: '' });
  const { BCITY, CREDIT_LIMIT, NOTES } = await succeed(shop.getCustomer(code));
  assert.deepEqual([BCITY, CREDIT_LIMIT, NOTES], ['', '', '']);
});

test('200 CUSTOMER_CODE is taken as a number too, and alone changes nothing', async () => {
  const code = await newCustomer({ BCITY: 'Portland' });
  assert.equal(await update(Number(code), {}), code);
  assert.equal((await succeed(shop.getCustomer(code)))['BCITY'], 'Portland');
});

test('200 a change reaches one customer alone', async () => {
  const [code, other] = [await newCustomer({ CUSTOMER_CODE: 'abc' }), await newCustomer({ CUSTOMER_CODE: 'ABC' })];
  await update(code, { BCITY: 'Here' });
  assert.equal((await succeed(shop.getCustomer(other)))['BCITY'], '');
});

test('400 CUSTOMER_NOT_FOUND names the customer that does not exist', async () => {
  const [message] = await refuses('CUSTOMER_NOT_FOUND', eachAs(['CUSTOMER_CODE'], ['NOBODY', 'aBC'], { BCITY: 'x' }));
  assert.match(message!, /NOBODY/);
});

test('400 MISSING_FIELD without CUSTOMER_CODE', async () => {
  await refuses('MISSING_FIELD', eachAs(['CUSTOMER_CODE'], [undefined, null, ''], { BCITY: 'x' }));
});

test('400 FIELD_NOT_ALLOWED for FUNCTION, CREATE_DATE, MODIFIED_DATE', async () => {
  const CUSTOMER_CODE = await newCustomer();
  await refuses(
    'FIELD_NOT_ALLOWED',
    eachAs(['FUNCTION', 'CREATE_DATE', 'MODIFIED_DATE'], ['x', null], { CUSTOMER_CODE, BCITY: 'x' }),
  );
});

test('400 UNKNOWN_FIELD and INVALID_VALUE leave the customer as it was', async () => {
  const CUSTOMER_CODE = await newCustomer({ BCITY: 'Portland' });
  const [message] = await refuses('UNKNOWN_FIELD', eachAs(['BSTAET'], ['x'], { CUSTOMER_CODE, BCITY: 'x' }));
  assert.match(message!, /'BSTAET'.*\bBSTATE\b/);
  await refuses('INVALID_VALUE', eachAs(['CREDIT_LIMIT'], ['x'], { CUSTOMER_CODE, BCITY: 'x' }));
});

test('400 INVALID_BODY when the body is not an object, or is missing', async () => {
  await refuses('INVALID_BODY', { '': [[], '"text"', undefined] });
});
