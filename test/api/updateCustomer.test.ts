/** Tests updateCustomer: POST /customers/update. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, sampleOf, Shop, succeed } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.updateCustomer);

const newCustomer = (fields: Record<string, unknown> = {}): Promise<string> =>
  succeed<string>(shop.createCustomer(fields));
const update = (CUSTOMER_CODE: unknown, change: Record<string, unknown>): Promise<string> =>
  succeed<string>(shop.updateCustomer({ CUSTOMER_CODE, ...change }));

// Holds S7.4.
test('200 data is the CUSTOMER_CODE; only the sent fields change', async () => {
  const code = await newCustomer({ CUSTOMER_NAME: 'Harbour Lane Books', BCITY: 'Portland', NOTES: 'old' });
  const earlier = await succeed(shop.getCustomer(code));
  assert.equal(await update(code, { BPHONE: '26.47.15.10', NOTES: 'new' }), code);
  const now = await succeed(shop.getCustomer(code));
  const { MODIFIED_DATE } = now;
  assert.deepEqual(now, { ...earlier, BPHONE: '26.47.15.10', NOTES: 'new', MODIFIED_DATE });
  assert.ok(now['MODIFIED_DATE']! >= earlier['MODIFIED_DATE']!);
});

// Holds S5.3, S7.4.
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

test('200 CUSTOMER_CODE may also be a JSON number, and alone changes nothing', async () => {
  const code = await newCustomer({ BCITY: 'Portland' });
  assert.equal(await update(Number(code), {}), code);
  assert.equal((await succeed(shop.getCustomer(code)))['BCITY'], 'Portland');
});

test('200 a change reaches one customer alone', async () => {
  const [code, other] = [await newCustomer({ CUSTOMER_CODE: 'abc' }), await newCustomer({ CUSTOMER_CODE: 'ABC' })];
  await update(code, { BCITY: 'Here' });
  assert.equal((await succeed(shop.getCustomer(other)))['BCITY'], '');
});

const CUSTOMER_CODE = await newCustomer({ BCITY: 'Portland' });
const change = { CUSTOMER_CODE, BCITY: 'x' };
const nobody = eachAs(['CUSTOMER_CODE'], ['NOBODY', 'aBC'], change);
const assigned = eachAs(['FUNCTION', 'CREATE_DATE', 'MODIFIED_DATE'], ['x', null], change);
// Holds S3.8, S3.9.
refuses('400 CUSTOMER_NOT_FOUND names the customer that does not exist', nobody, /NOBODY/);
// Holds S7.4.
refuses('400 MISSING_FIELD without CUSTOMER_CODE', eachAs(['CUSTOMER_CODE'], [undefined, null, ''], change));
// Holds S5.11.
refuses('400 FIELD_NOT_ALLOWED for FUNCTION, CREATE_DATE, MODIFIED_DATE', assigned);
refuses('400 UNKNOWN_FIELD leaves the customer unchanged', eachAs(['BSTAET'], ['x'], change), /'BSTAET'.*\bBSTATE\b/);
refuses('400 INVALID_VALUE leaves the customer unchanged', eachAs(['CREDIT_LIMIT'], ['x'], change));
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': [[], '"text"', undefined] });
