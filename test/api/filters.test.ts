/** Tests what filters mean, and the order of records: the same for orders, customers and parts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, type Filters, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';

const shop = await Shop.shared();
const { service } = shop;

const codesOf = async (filters: Filters, from = shop): Promise<string[]> =>
  (await succeed<Values[]>(from.queryCustomers(filters))).map((customer) => customer['CUSTOMER_CODE']!);

/** Makes a customer for each name, which is in its code, CUSTOMER_NAME (searched by index) and NOTES (not). */
const addNamed = async (names: readonly string[]): Promise<void> => {
  for (const name of names)
    await succeed(shop.createCustomer({ CUSTOMER_CODE: `named ${name}`, CUSTOMER_NAME: name, NOTES: name }));
};

/** Returns the names that contain a value. CUSTOMER_NAME and NOTES must find the same ones. */
async function findNames(value: string): Promise<string[]> {
  const fields = ['CUSTOMER_NAME', 'NOTES'].map((field) => codesOf([{ field, value, contains: true }]));
  const [byName, byNotes] = await Promise.all(fields);
  assert.deepEqual(byName, byNotes, value);
  return byName!.map((code) => code.replace('named ', ''));
}

// Holds S6.4, S6.6.
test('exact matches the same characters: no other case, no part, no additional spaces', async () => {
  const name = 'Harbour Lane Books';
  const others = [name.toLowerCase(), 'Harbour Lane', `${name} `, '%', 'Harbour%', 'Harbour_Lane Books'];
  await succeed(shop.createCustomer({ CUSTOMER_CODE: 'X', CUSTOMER_NAME: name, BATTN: name }));
  for (const field of ['CUSTOMER_NAME', 'BATTN'])
    for (const contains of [undefined, false]) {
      assert.deepEqual(await codesOf([{ field, value: name, contains }]), ['X']);
      for (const value of others) assert.deepEqual(await codesOf([{ field, value, contains }]), [], value);
    }
});

test('exact "" finds the records without a value; contains "" finds all', async () => {
  const all = await codesOf([]);
  assert.deepEqual(await codesOf([{ field: 'SNAME', value: '' }]), all);
  assert.deepEqual(await codesOf([{ field: 'SNAME', value: '', contains: true }]), all);
  assert.deepEqual(await codesOf([{ field: 'CUSTOMER_NAME', value: '' }]), []);
});

// Holds S6.6.
test('contains ignores case in every script, with final sigma, sharp s, letters of two or four bytes', async () => {
  const needles: Record<string, string[]> = {
    'ΟΔΟΣ ΣΟΛΩΝΟΣ': ['οδος', 'οδοσ', 'ς σ', 'σ ς', 'σολωνος', 'ΟΣ Σ', 'ΟΛ'],
    ὀδυσσεύς: ['ὈΔΥΣΣΕΎΣ', 'εύσ', 'ΕΎΣ', 'ύς'],
    Straße: ['STRASSE', 'straße', 'STRAẞE', 'aß', 'aẞ', 'ASS'],
    МОСКВА: ['москва', 'Кв', 'скв'],
    ÅNGSTRÖM: ['ångström', 'å', 'STRÖM'],
    ԵՐԵՎԱՆ: ['երեվան', 'եր'],
    თბილისი: ['ᲗᲑᲘᲚᲘᲡᲘ', 'ბილ'],
    ᏣᎳᎩ: ['ꮳꮃꭹ', 'ꮃ'],
    𐐔𐐇𐐝𐐀𐐡𐐇𐐓: ['𐐼𐐯𐑅𐐨𐑉𐐯𐐻', '𐐼', '𐑅𐐨𐑉'],
    ＷＩＤＥ: ['ｗｉｄｅ', 'ｉ'],
    ǆungla: ['ǄUNGLA', 'ǅung', 'Ǆ'],
    東京都: ['東京都', '京'],
  };
  await addNamed(Object.keys(needles));
  for (const [name, found] of Object.entries(needles))
    for (const needle of found) assert.deepEqual(await findNames(needle), [name], needle);
  for (const needle of ['οδοζ', 'Strase', 'ангстрём', '京都府']) assert.deepEqual(await findNames(needle), [], needle);
});

test('contains: % and _ and \\ are ordinary characters, as is every other special one', async () => {
  const odd = String.raw`100% | 100 percent | a_b_c | axbxc | a\b\c | a/b/c | a*b*c | "quoted text" | it's`;
  const names = `${odd} | one AND two | one OR two | NOT NEAR(x) | [ab] | ^a.c$ | 😀😁😂`.split(' | ');
  await addNamed(names);
  const marks = String.raw`% | _ | \ | 0% | _b_ | \b\ | a_b | * | a*b | " | "quo | text" | ' | one AND | OR | NEAR(`;
  const needles = `${marks} | [ab | ^a. | c$ | 😁 | 😀😁😂 | 100_percent | a%c`.split(' | ');
  for (const needle of needles) {
    const expected = names.filter((name) => name.toUpperCase().includes(needle.toUpperCase()));
    const found = (await findNames(needle)).filter((name) => names.includes(name));
    assert.deepEqual(found.toSorted(compare), expected.toSorted(compare), needle);
  }
});

// Holds S6.4.
test('contains: a long text is found only where all of it occurs in one piece', async () => {
  const long =
    'The quick brown fox jumps over the lazy dog, and then the lazy dog jumps over the quick brown fox again';
  await addNamed([long, long.replace('again', 'twice'), long.split(' ').toReversed().join(' ')]);
  assert.deepEqual(await findNames(long.toUpperCase()), [long]);
  assert.deepEqual(await findNames('dog, and then the'), [long, long.replace('again', 'twice')]);
});

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

// Holds S6.3.
test('AND binds tighter than OR: every chain of two to four filters, every mix of true and false', async () => {
  // Four ways to answer: by an index, by the trigram index, and by scans for a value and for a substring.
  const conditions = [
    { field: 'BCITY', value: 'yes' },
    { field: 'BNAME', value: 'YES', contains: true },
    { field: 'SADDRESS1', value: 'yes' },
    { field: 'NOTES', value: 'e', contains: true },
  ];
  const logic = await Shop.open(service, 'logic');
  const rows = times(16, (row) => conditions.map((_condition, at) => (row & (1 << at)) !== 0));
  const fieldsOf = (row: boolean[]): Values =>
    Object.fromEntries(conditions.map(({ field }, at) => [field, row[at] ? 'yes' : 'no']));
  const customers = rows.map((row, index) => ({ CUSTOMER_CODE: String(index), ...fieldsOf(row) }));
  await logic.load('customers', customers);

  const chains = [2, 3, 4].flatMap((length) =>
    times(2 ** (length - 1), (bits) => Array.from({ length }, (_word, at) => (bits & (1 << at) ? 'OR' : 'AND'))),
  );
  for (const words of chains)
    for (let first = 0; first < 4; first++) {
      const places = words.map((_, at) => (first + at) % 4);
      // The first filter has no conjunction, so the last word is not used.
      const filters = places.map((place, at) =>
        at === 0 ? conditions[place]! : { ...conditions[place]!, conjunction: words[at - 1] },
      );
      const holds = (row: boolean[]): boolean => {
        let [isAny, isAll] = [false, true];
        for (const [at, place] of places.entries()) {
          if (at > 0 && words[at - 1] === 'OR') [isAny, isAll] = [isAny || isAll, true];
          isAll &&= row[place]!;
        }
        return isAny || isAll;
      };
      const expected = rows.flatMap((row, index) => (holds(row) ? [String(index)] : []));
      assert.deepEqual(await codesOf(filters, logic), expected, JSON.stringify(filters));
    }
});

// Holds S6.3.
test('a missing conjunction is AND, the first filter’s is ignored, and/or may have any case', async () => {
  const two = await Shop.open(service, 'two');
  await two.load('customers', [
    { CUSTOMER_CODE: '1', BCITY: 'a', BSTATE: 'x' },
    { CUSTOMER_CODE: '2', BCITY: 'a', BSTATE: 'y' },
    { CUSTOMER_CODE: '3', BCITY: 'b', BSTATE: 'x' },
  ]);
  const [city, state] = [
    { field: 'BCITY', value: 'a' },
    { field: 'BSTATE', value: 'x' },
  ];
  assert.deepEqual(await codesOf([city, state], two), ['1']);
  for (const and of ['AND', 'and', 'And'])
    assert.deepEqual(await codesOf([city, { ...state, conjunction: and }], two), ['1']);
  for (const or of ['OR', 'or', 'oR'])
    assert.deepEqual(await codesOf([city, { ...state, conjunction: or }], two), ['1', '2', '3']);
  for (const ignored of ['OR', 'AND', 'or']) {
    assert.deepEqual(await codesOf([{ ...city, conjunction: ignored }], two), ['1', '2']);
    assert.deepEqual(await codesOf([{ ...city, conjunction: ignored }, state], two), ['1']);
  }
  assert.deepEqual(await codesOf([], two), ['1', '2', '3']);
});

test('a record that matches several alternatives is returned once', async () => {
  const filters = times(20, () => ({ field: 'CUSTOMER_CODE', value: 'X', conjunction: 'OR' }));
  const part = { field: 'CUSTOMER_NAME', value: 'arbour', contains: true, conjunction: 'OR' };
  assert.deepEqual(await codesOf([...filters, part]), ['X']);
});

// Holds S6.3.
test('a query may have at most 50 filters', async () => {
  const filters = (count: number): Filters =>
    times(count, () => ({ field: 'NOTES', value: 'yes', contains: true, conjunction: 'OR' }));
  await succeed(shop.queryOrders(filters(50)));
  expectRefusal(await shop.queryOrders(filters(51)), 400, 'TOO_MANY_FILTERS');
});

// Holds S6.3.
test('a filter value has at most 256 characters', async () => {
  for (const character of ['x', '東', '😀'])
    for (const contains of [false, true]) {
      await succeed(shop.queryOrders([{ field: 'NOTES', value: character.repeat(256), contains }]));
      const answer = await shop.queryOrders([{ field: 'NOTES', value: character.repeat(257), contains }]);
      expectRefusal(answer, 400, 'INVALID_VALUE', 'NOTES');
    }
});

// Holds S5.1.
test('an unknown field is refused, naming it and the nearest known one', async () => {
  const cases = {
    REFERENCE_NUMB: 'REFERENCE_NUMBER',
    customer_code: 'CUSTOMER_CODE',
    ORDERSTATUS: 'ORDER_STATUS',
    "NOTES' OR '1'='1": '',
    '': '',
  };
  for (const [field, nearest] of Object.entries(cases)) {
    const filters = ['NOTES', field].map((name) => ({ field: name, value: 'x' }));
    const message = expectRefusal(await shop.queryOrders(filters), 400, 'UNKNOWN_FIELD', field);
    assert.ok(message.includes(`'${field}'`) && new RegExp(`\\b${nearest}\\b`).test(message), message);
  }
});

// Holds S5.11.
test('FUNCTION cannot be used in a filter', async () => {
  expectRefusal(await shop.queryOrders([{ field: 'FUNCTION', value: 'x' }]), 400, 'FIELD_NOT_ALLOWED', 'FUNCTION');
});

// Holds S5.7.
test('dates, numbers, flags and times in an exact filter are parsed as in a write', async () => {
  const number = await shop.newOrder({ ORDER_DATE: '03/04/2026', FREIGHT: '1.5', DROP_SHIP: 'Y' });
  const created = (await shop.order(number))['CREATE_DATE']!;
  const found: Record<string, unknown[]> = {
    ORDER_DATE: ['3/4/2026', '03/04/2026', '2026-03-04'],
    FREIGHT: ['1.5', '1.50', '+01.5', 1.5],
    DROP_SHIP: ['Y', 'y', true],
    ORDER_NUMBER: [number, Number(number)],
    CREATE_DATE: [created, created.replace('Z', '+00:00')],
  };
  for (const [field, values] of Object.entries(found))
    for (const value of values) {
      const orders = await succeed<Values[]>(shop.queryOrders([{ field, value }]));
      assert.deepEqual(valuesOf(orders, 'ORDER_NUMBER'), [number], `${field} ${String(value)}`);
    }
  assert.deepEqual(await succeed(shop.queryOrders([{ field: 'ORDER_DATE', value: '4/3/2026' }])), []);
  const wrong = { ORDER_DATE: '2/30/2026', FREIGHT: 'much', DROP_SHIP: 'perhaps', CREATE_DATE: 'yesterday' };
  for (const [field, value] of Object.entries(wrong))
    expectRefusal(await shop.queryOrders([{ field, value }]), 400, 'INVALID_VALUE', field);
});

test('contains searches the text of the response, for dates and numbers too', async () => {
  await succeed(shop.createOrder({ ORDER_DATE: '12/5/2031', FREIGHT: '88.250' }));
  for (const [field, values] of Object.entries({ ORDER_DATE: ['/2031', '12/05'], FREIGHT: ['8.25', '.25'] }))
    for (const value of values)
      assert.equal((await succeed<Values[]>(shop.queryOrders([{ field, value, contains: true }]))).length, 1, value);
});

test('a custom field can be used in filters like any other', async () => {
  await shop.run('fields', 'add', 'shop', 'customers', 'SHOE_SIZE', '--type', 'number');
  const code = await succeed<string>(shop.createCustomer({ SHOE_SIZE: '42.50' }));
  assert.deepEqual(await codesOf([{ field: 'SHOE_SIZE', value: '042.5' }]), [code]);
  const part = { field: 'SHOE_SIZE', value: '2.5', contains: true };
  assert.deepEqual(await codesOf([part, { field: 'CUSTOMER_CODE', value: code }]), [code]);
});

// Holds S6.2, S6.5, S6.11.
test('INVALID_FILTER for a filter with a missing or unknown member, or one of another type', async () => {
  const good = { field: 'NOTES', value: 'x' };
  const wrong: [unknown, string][] = [
    [{ value: 'x' }, 'field'],
    [{ field: 'NOTES' }, 'value'],
    [{ ...good, field: 7 }, 'field'],
    [{ ...good, value: null }, 'value'],
    [{ ...good, value: ['x'] }, 'value'],
    [{ ...good, contains: 'true' }, 'contains'],
    [{ ...good, contains: 1 }, 'contains'],
    [{ ...good, conjunction: 'XOR' }, 'conjunction'],
    [{ ...good, conjunction: '' }, 'conjunction'],
    [{ ...good, operator: 'like' }, 'operator'],
    ['NOTES', ''],
    [null, ''],
    [[], ''],
  ];
  for (const [filter, field] of wrong) {
    const answer = await shop.queryOrders([good, filter] as Filters);
    assert.match(expectRefusal(answer, 400, 'INVALID_FILTER', field), /Filter 1\b/);
  }
});

// Holds S6.12.
test('records are sorted by their keys: all-digit codes as numbers, then text by code point', async () => {
  const sorted = await Shop.open(service, 'sorted');
  const digits = '2 9 10 00010 11 99999999999999999999 100000000000000000000';
  const codes = `${digits} -1 1.5 10A A A1 A10 A2 B a ~ Ä é 東 \uffff 😀`.split(' ');
  const customers = codes.toReversed().map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, BCITY: 'here', BNAME: 'somebody' }));
  await sorted.load('customers', customers);
  assert.deepEqual(await codesOf([], sorted), codes);
  const here = { field: 'BCITY', value: 'here' };
  const named = { field: 'BNAME', value: 'body', contains: true };
  for (const filters of [[here], [named], [here, { ...named, conjunction: 'OR' }], [{ field: 'BSTATE', value: '' }]])
    assert.deepEqual(await codesOf(filters, sorted), codes);
});
