/** Tests how values go in and come out: JSON types, dates, numbers, flags, refusals, and text that is kept exactly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times } from '../kit/lists.ts';
import { eachAs, expectRefusal, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';

const shop = await Shop.shared();
const refuses = shop.refuses.bind(shop, shop.createOrder);
const { service } = shop;

/** Creates an order from JSON text or fields, and returns it as getOrder does. */
async function keep(body: unknown): Promise<Values> {
  return (await shop.getOrder(await shop.newOrder(body))).body.data as Values;
}

/** Checks that each value sent for a field comes back as the text that it is listed under. */
async function expectKept(field: string, sentByKept: Record<string, unknown[]>): Promise<void> {
  for (const [kept, values] of Object.entries(sentByKept))
    for (const sent of values)
      assert.equal((await keep({ [field]: sent }))[field], kept, `${field} ${JSON.stringify(sent)}`);
}

test('strings are kept unchanged: spaces, line breaks, case, leading zeros', async () => {
  const words = ['', ' ', '  two  spaces  ', '\t', 'a\nb\r\nc', 'MiXeD', '007', '1.50', 'null', 'true', '{}'];
  for (const text of [...words, '"', "'; DROP TABLE ORDERS;--", '\\', '\\u0041'])
    await expectKept('NOTES', { [text]: [text] });
});

// Holds S5.6.
test('JSON numbers are accepted and stored as strings', async () => {
  const order = await keep(`{"NOTES": 12.5, "PO_NUMBER": -7, "BCITY": 0, "BSTATE": 1e3, "FREIGHT": 123456789012.345,
    "SNAME": 0.1, "SCITY": -0, "BZIPCODE": 2.50}`);
  const { NOTES, PO_NUMBER, BCITY, BSTATE, FREIGHT, SNAME, SCITY, BZIPCODE } = order;
  const expected = ['12.5', '-7', '0', '1000', '123456789012.345', '0.1', '0', '2.5'];
  assert.deepEqual([NOTES, PO_NUMBER, BCITY, BSTATE, FREIGHT, SNAME, SCITY, BZIPCODE], expected);
});

// Holds S5.6.
test('JSON booleans are accepted and stored as strings, in a flag as Y and N', async () => {
  const order = await keep({ NOTES: true, PO_NUMBER: false, DROP_SHIP: true });
  assert.deepEqual([order['NOTES'], order['PO_NUMBER'], order['DROP_SHIP']], ['true', 'false', 'Y']);
  assert.equal((await keep({ DROP_SHIP: false }))['DROP_SHIP'], 'N');
});

// Holds S5.6.
test('null is stored as no value and read back as ""', async () => {
  for (const field of ['NOTES', 'ORDER_DATE', 'FREIGHT', 'DROP_SHIP']) await expectKept(field, { '': [null, ''] });
});

// Holds S5.6.
test('objects and arrays are refused, naming the field', async () => {
  const values = [{}, { a: 1 }, [], ['x']];
  await refuses('INVALID_VALUE', eachAs(['NOTES', 'FREIGHT', 'ORDER_DATE'], values, { BCITY: 'Reims' }));
});

// Holds S5.8.
test('a number of more than 15 digits, or that cannot be kept exactly, is refused, naming the field; as a string it is kept', async () => {
  const large = '9007199254740993 12345678901234567890 1e400 -1e400 1e21';
  const inexact = `${large} 0.12345678901234567 1e-7 1e-400 0.30000000000000001 0.30000000000000004`.split(' ');
  inexact.push('9007199254740991', '-1234567890123456');
  await refuses('INVALID_VALUE', { FREIGHT: inexact.map((number) => `{"NOTES": "x", "FREIGHT": ${number}}`) });
  const { text } = await shop.createOrder(`{"${'LONG'.repeat(20_000)}": 1e400}`);
  assert.ok(text.length < 1000, 'a long name is not repeated whole');
  for (const exact of ['9007199254740993', '12345678901234567890', '0.30000000000000001'])
    await expectKept('FREIGHT', { [exact]: [exact] });
});

test('a number in a filter that cannot be kept exactly is refused too', async () => {
  const body = '[{"field": "FREIGHT", "value": 9007199254740993}]';
  const answer = await service.call(shop.keys, 'POST', '/orders/query', { body });
  expectRefusal(answer, 400, 'INVALID_VALUE', 'value');
});

// Holds S5.8.
test('decimal numbers are returned without trailing zeros, with all their digits', async () => {
  const long = '123456789012345678901234567890.12345678901234567890123456789';
  await expectKept('FREIGHT', {
    0: ['0', '0.00', '-0'],
    '0.25': ['000.250'],
    '1.5': ['1.5', '+1.5'],
    '-1.5': ['-1.50'],
    '2.5': [2.5],
    3: ['3', '3.0'],
    '3.1': ['3.10'],
    7: ['007'],
    100: ['100'],
    '1000000000000000000000': ['1000000000000000000000'],
    '0.000000000000000000001': ['0.000000000000000000001'],
    [long]: [`${long}0`],
  });
});

// Holds S7.3.
test('quantities of a line are returned without trailing zeros too', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  for (const [kept, sent] of Object.entries({ '3': '3.000', '1.5': '1.50', '4': 4, '-2': '-2' }))
    assert.equal((await succeed(shop.addLineItem({ ORDER_NUMBER, QUANTITY: sent })))['QUANTITY'], kept);
});

// Holds S5.8.
test('a value that is not a decimal number is refused in number fields of orders, customers and lines', async () => {
  const words = 'x 1e3 1,5 1,000 .5 5. --1 0x10 $5 ٣ １ NaN Infinity 1.2.3'.split(' ');
  const wrong = [...words, ' 1', '1 ', '1 000', '\n1', '1'.repeat(31), true];
  await refuses('INVALID_VALUE', eachAs(['FREIGHT'], wrong, { NOTES: 'x' }));
  await refuses('INVALID_VALUE', eachAs(['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL'], ['x'], { NOTES: 'x' }));
  await shop.refuses(shop.createCustomer, 'INVALID_VALUE', eachAs(['CREDIT_LIMIT'], ['x'], { NOTES: 'x' }));
  const ORDER_NUMBER = await shop.newOrder();
  const ofLine = eachAs(['QUANTITY', 'UNIT_PRICE', 'DISCOUNT'], ['x'], { ORDER_NUMBER });
  await shop.refuses(shop.addLineItem, 'INVALID_VALUE', ofLine);
});

// Holds S5.7.
test('dates are accepted as m/d/yyyy or ISO and returned as mm/dd/yyyy', async () => {
  await expectKept('ORDER_DATE', {
    '03/04/2026': ['3/4/2026', '03/04/2026', '2026-03-04'],
    '12/31/1999': ['12/31/1999'],
    '02/29/2024': ['2/29/2024'],
    '02/29/2000': ['2000-02-29'],
    '01/01/0001': ['1/1/0001'],
    '12/31/9999': ['9999-12-31'],
  });
});

// Holds S5.7.
test('impossible dates, and values that are not dates, are refused', async () => {
  const impossible = `2/29/2023 2/29/1900 2/30/2024 4/31/2026 13/1/2026 0/1/2026 1/0/2026 1/32/2026 31/12/2026
    1/1/0000 2026-02-30 2026-13-01 2026-00-10 2026-03-04T25:00:00Z 2026-02-30T10:00:00Z`;
  const noDates = `1/1/26 2026-3-4 2026/03/04 20260304 3-4-2026 3.4.2026 today 03/04/20261 3/4/-2026 ٣/٤/٢٠٢٦
    2026-03-04T 2026-03-04T10:00:00 2026-03-04T23:30:00Z 2026-03-04T23:30:00-08:00 2026-03-04Z`;
  const words = `${impossible} ${noDates}`.split(/\s+/);
  const wrong = [...words, ' 3/4/2026', '3/4/2026 ', '3/4/2026 10:00', 20260304, true];
  await refuses('INVALID_VALUE', eachAs(['ORDER_DATE'], wrong, { NOTES: 'x' }));
});

test('flags are returned as Y or N; anything else is refused', async () => {
  await expectKept('DROP_SHIP', { Y: ['Y', 'y', true], N: ['N', 'n', false] });
  await refuses('INVALID_VALUE', eachAs(['DROP_SHIP'], ['yes', 'X', 'YY', ' Y', 2, 'ja'], { NOTES: 'x' }));
});

// Holds S5.6.
test('NUL characters and lone surrogates are refused, also in names and escaped', async () => {
  const wrong = ['\0', 'a\0b', '\ud800', 'a\udc00b', '\udc00\ud800', 'ends \ud83d'];
  await refuses('INVALID_VALUE', eachAs(['NOTES', 'FREIGHT', 'ORDER_DATE', 'DROP_SHIP'], wrong, { BCITY: 'Reims' }));
  await refuses('INVALID_VALUE', {
    NOTES: ['{"NOTES": "\\u0000"}', '{"NOTES": "\\ud83d"}', '{"NOTES": "\\uDE00\\uD83D"}'],
  });
  await shop.refuses(shop.createCustomer, 'INVALID_VALUE', eachAs(['CUSTOMER_CODE'], wrong));
  expectRefusal(await shop.createOrder({ 'NOTES\0': 'x' }), 400, 'UNKNOWN_FIELD');
  for (const value of wrong)
    for (const contains of [false, true])
      expectRefusal(await shop.queryOrders([{ field: 'NOTES', value, contains }]), 400, 'INVALID_VALUE', 'NOTES');
});

// Holds S14.1.
test('a value has at most 8,192 characters, regardless of their bytes', async () => {
  for (const character of ['x', 'é', '東', '😀']) {
    const longest = character.repeat(8192);
    assert.equal((await keep({ NOTES: longest }))['NOTES'], longest, character);
    await refuses('INVALID_VALUE', { NOTES: [{ NOTES: `${longest}${character}` }] });
  }
});

// Holds S14.1.
test('a body has at most 512 fields, teamID and credentials not counted', async () => {
  const body = (fields: number): object => ({
    ...shop.keys,
    ...Object.fromEntries(times(fields, (index) => [`F${index}`, 'x'])),
  });
  expectRefusal(await service.request('PUT', '/orders/create', { body: body(512) }), 400, 'UNKNOWN_FIELD', 'F0');
  const answer = await service.request('PUT', '/orders/create', { body: body(513) });
  assert.match(expectRefusal(answer, 400, 'INVALID_BODY'), /512/);
});

test('every character of Unicode but NUL is returned byte for byte', async () => {
  const fields = ['NOTES', 'SHIP_VIA', 'BADDRESS1', 'BADDRESS2', 'SADDRESS1', 'SADDRESS2', 'BATTN'];
  const codes = range(0x10ffff).filter((code) => code < 0xd800 || code > 0xdfff);
  assert.equal(codes.length, 0x110000 - 2048 - 1);
  for (let at = 0; at < codes.length; at += 8192 * fields.length) {
    const textAt = (from: number): string =>
      Array.from(codes.slice(from, from + 8192), (code) => String.fromCodePoint(code)).join('');
    const texts = fields.map((_, index) => textAt(at + index * 8192));
    const got = await keep(Object.fromEntries(fields.map((field, index) => [field, texts[index]])));
    for (const [index, field] of fields.entries())
      assert.ok(got[field] === texts[index], `${field} of those from U+${codes[at]!.toString(16)}`);
  }
});

test('odd text is returned byte for byte by customers, lines, and queries of customers', async () => {
  const odd = [
    '\ufeffBOM first',
    'e\u0301 é ﬁ Å Å',
    '\u202eright to left\u202c',
    '👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 👍🏿',
    'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢',
    'ﷺ',
    '\ufffe\uffff\u{1ffff}\u{10ffff}',
    '\u2028\u2029\u0085\u000b\f',
    '\u0001\u001f\u007f\u009f',
    'ＮＵＬＬ',
    '田中さんにあげて下さい',
    'ثم نفس سقطت وبالتحديد',
    'ıİiI ßẞ ΣσςΟΔΟΣ ǅ',
    '%s%n%d {{7*7}} ${7*7} $(id) `id`',
    '<script>alert(1)</script>',
    ...String.raw`../../etc/passwd | =1+1 | "quoted ""twice""" | O'Brien | \"\\ | -- | /* x */`.split(' | '),
    '1;2,3\t4',
    'a\u00adb\u200bc\u2060d',
    '\u{e0001}\u{e0041}',
  ];
  const ORDER_NUMBER = await shop.newOrder();
  for (const text of odd) {
    const code = await succeed<string>(shop.createCustomer({ CUSTOMER_CODE: text, CUSTOMER_NAME: text }));
    assert.equal(code, text);
    assert.deepEqual((await succeed(shop.getCustomer(text)))['CUSTOMER_NAME'], text);
    const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: text, DESCRIPTION: text }));
    assert.deepEqual([line['PART_CODE'], line['DESCRIPTION']], [text, text]);
    for (const contains of [false, true]) {
      const filters = ['CUSTOMER_CODE', 'CUSTOMER_NAME'].map((field) => ({ field, value: text, contains }));
      const found = await succeed<Values[]>(shop.queryCustomers(filters));
      assert.deepEqual(valuesOf(found, 'CUSTOMER_NAME'), [text], text);
    }
  }
  assert.deepEqual(valuesOf(await shop.lines(ORDER_NUMBER), 'DESCRIPTION'), odd);
});
