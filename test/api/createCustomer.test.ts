/** Tests createCustomer: PUT /customers/create. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { eachAs, expectRefusal, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.createCustomer);

const create = (fields: Record<string, unknown>): Promise<string> => succeed<string>(shop.createCustomer(fields));

// Holds S1.5, S7.1.
test('200 data is the newly assigned CUSTOMER_CODE', async () => {
  const code = await create({ CUSTOMER_NAME: 'Harbour Lane Books' });
  assert.match(code, /^[1-9]\d*$/);
  const customer = await succeed(shop.getCustomer(code));
  assert.deepEqual([customer['CUSTOMER_CODE'], customer['CUSTOMER_NAME']], [code, 'Harbour Lane Books']);
});

// Holds S5.3, S5.15, S7.1.
test('200 every CUSTOMER field can be sent and is returned unchanged', async () => {
  const sent = sampleOf('customers');
  assert.equal(Object.keys(sent).length, 25);
  const got = await succeed(shop.getCustomer(await create(sent)));
  assert.deepEqual({ ...got, ...sent }, got);
});

// Holds S7.1.
test('200 all fields are optional: without a CUSTOMER_CODE, or an empty one, PIMS assigns it', async () => {
  const codes = await Promise.all([{}, { CUSTOMER_CODE: null }, { CUSTOMER_CODE: '' }].map(create));
  for (const code of codes) assert.match(code, /^[1-9]\d*$/);
  assert.equal(new Set(codes).size, 3);
});

// Holds S5.9, S5.10, S7.2.
test('200 a CUSTOMER_CODE that the caller chose is used if it is free', async () => {
  for (const code of ['VINET', 'A/7 #+%', 'vinet', '007', ' '])
    assert.equal((await succeed(shop.getCustomer(await create({ CUSTOMER_CODE: code }))))['CUSTOMER_CODE'], code);
});

const assignedCode = await create({ CUSTOMER_NAME: 'First' });
await create({ CUSTOMER_CODE: 'TAKEN', CUSTOMER_NAME: 'First' });
const taken = eachAs(['CUSTOMER_CODE'], ['TAKEN', assignedCode], { CUSTOMER_NAME: 'Second' });
// Holds S3.9, S5.9, S5.10, S7.2.
refuses('400 CODE_TAKEN names a CUSTOMER_CODE that is not free', taken, /TAKEN/, new RegExp(assignedCode));

// Holds S14.1.
test('400 INVALID_VALUE for a CUSTOMER_CODE over 256 characters; one of 256 can be read and paged past', async () => {
  for (const character of ['x', '7', 'é', '😀']) {
    const longest = character.repeat(256);
    await shop.refuses(shop.createCustomer, 'INVALID_VALUE', eachAs(['CUSTOMER_CODE'], [`${longest}${character}`]));
    await create({ CUSTOMER_CODE: longest, NOTES: 'longest' });
    assert.equal((await succeed(shop.getCustomer(longest)))['CUSTOMER_CODE'], longest);
    expectRefusal(await shop.getCustomer(`${longest}${character}`), 404, 'NOT_FOUND', 'customerCode');
  }
  let cursor: string | null = null;
  for (const character of ['7', 'x', 'é', '😀']) {
    const from: Values = cursor === null ? {} : { cursor };
    const page = await shop.queryCustomers([{ field: 'NOTES', value: 'longest' }], { maxReturn: '1', ...from });
    assert.deepEqual(page.body.data[0].CUSTOMER_CODE, character.repeat(256));
    cursor = page.headers.get('x-next-cursor');
  }
  assert.equal(cursor, null);
});

test('200 if many callers ask for the same code at once, one gets it', async () => {
  const race = (index: number) => shop.createCustomer({ CUSTOMER_CODE: 'RACE', NOTES: String(index) });
  const answers = await Promise.all(times(12, race));
  const winner = answers.findIndex(({ status }) => status === 200);
  for (const answer of answers.toSpliced(winner, 1)) expectRefusal(answer, 400, 'CODE_TAKEN', 'CUSTOMER_CODE');
  assert.equal((await succeed(shop.getCustomer('RACE')))['NOTES'], String(winner));
});

test('200 assigned codes ascend, skip codes that callers chose, and are never assigned twice', async () => {
  const next = Number(await create({})) + 1;
  await create({ CUSTOMER_CODE: String(next) });
  await create({ CUSTOMER_CODE: String(next + 2) });
  const codes = (await Promise.all(times(20, () => create({})))).map(Number);
  assert.equal(new Set(codes).size, 20);
  assert.ok(codes.every((code) => code > next + 2));
});

const BCITY = 'Reims';
const assigned = eachAs(['FUNCTION', 'CREATE_DATE', 'MODIFIED_DATE'], ['x', '', null], { BCITY });
const noNumbers = eachAs(['CREDIT_LIMIT'], ['lots', '1.000,00', '$5'], { BCITY });
const unknown = eachAs(['CUSTOMERNAME'], ['x'], { BCITY });
// Holds S5.11.
refuses('400 FIELD_NOT_ALLOWED for FUNCTION, CREATE_DATE, MODIFIED_DATE', assigned);
refuses('400 UNKNOWN_FIELD names the field and the nearest known one', unknown, /'CUSTOMERNAME'.*\bCUSTOMER_NAME\b/);
refuses('400 INVALID_VALUE for a CREDIT_LIMIT that is not a decimal number', noNumbers);
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': [[], '"text"', undefined] });
