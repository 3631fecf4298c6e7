/** Tests listFields: GET /fields. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, FIELDS, Shop, succeed, type RecordType } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

const shop = await Shop.shared('fields');
const TYPES = Object.keys(FIELDS) as RecordType[];

interface FieldEntry {
  name: string;
  type: string;
  description: string;
  values: string[] | null;
  [mark: string]: unknown;
}

const ask = (query: Record<string, string>): Promise<Answer> =>
  shop.service.call(shop.keys, 'GET', '/fields', { query });
const list = (type: string): Promise<FieldEntry[]> => succeed<FieldEntry[]>(ask({ type }));
const namesWith = (fields: FieldEntry[], mark: string): string => {
  const names = fields.filter((field) => field[mark] === true).map(({ name }) => name);
  return names.join(' ');
};

// Holds S5.14.
test('200 the fields of each record type, in the order of its records, with type, description and five marks', async () => {
  for (const type of TYPES) {
    const fields = await list(type);
    assert.deepEqual(
      fields.map(({ name }) => name),
      FIELDS[type],
    );
    for (const field of fields) {
      const members = 'name type description required assigned indexed searched custom values';
      assert.equal(Object.keys(field).join(' '), members);
      assert.match(field.type, /^(text|number|date|flag|timestamp)$/);
      assert.ok(field.description.length > 3, field.name);
      for (const mark of members.split(' ').slice(3, 8)) assert.equal(typeof field[mark], 'boolean', mark);
    }
  }
});

// Holds S5.14.
test('the marks say which fields PIMS sets, a record requires, and filters find by index', async () => {
  const [orders, lines, customers, inventory] = await Promise.all(TYPES.map(list));
  const stamps = 'CREATE_DATE MODIFIED_DATE';
  assert.equal(namesWith(orders!, 'assigned'), `ORDER_NUMBER BACKORDER_OF RETURN_OF ${stamps}`);
  assert.equal(namesWith(lines!, 'assigned'), `LINE_NUMBER LINE_REF_LOCK_CODE ${stamps}`);
  assert.equal(namesWith(customers!, 'assigned'), stamps);
  assert.equal(namesWith(inventory!, 'assigned'), `QTY_COMMITTED QTY_AVAILABLE ${stamps}`);
  const required = [orders!, lines!, customers!, inventory!].map((fields) => namesWith(fields, 'required'));
  assert.deepEqual(required, ['', 'ORDER_NUMBER', '', 'PART_CODE']);
  assert.match(namesWith(orders!, 'indexed'), /ORDER_NUMBER ORDER_TYPE REFERENCE_NUMBER CUSTOMER_CODE/);
  assert.match(namesWith(customers!, 'searched'), /CUSTOMER_CODE CUSTOMER_NAME/);
  const typeOf = (name: string): string => orders!.find((field) => field.name === name)!.type;
  assert.deepEqual(
    ['CREATE_DATE', 'ORDER_DATE', 'FREIGHT', 'DROP_SHIP', 'NOTES'].map(typeOf).join(' '),
    'timestamp date number flag text',
  );
});

// Holds S5.14.
test('a field with few values lists them', async () => {
  const values = Object.fromEntries((await list('orders')).map((field) => [field.name, field.values]));
  assert.deepEqual(values['ORDER_TYPE'], ['worksheet', 'quote', 'sales_order', 'invoice']);
  assert.deepEqual([values['DROP_SHIP'], values['NOTES']], [['Y', 'N'], null]);
});

// Holds S5.14.
test('a custom field is in the next response, after the others of its record type only', async () => {
  await shop.run('fields', 'add', shop.keys.teamID, 'orders', 'GIFT', '--type', 'flag');
  const [orders, lines] = [await list('orders'), await list('lines')];
  const { description, ...gift } = orders.at(-1)!;
  const marks = { required: false, assigned: false, indexed: false, searched: false, custom: true };
  assert.deepEqual(gift, { name: 'GIFT', type: 'flag', ...marks, values: ['Y', 'N'] });
  assert.ok(description);
  assert.equal(orders.length, FIELDS.orders.length + 1);
  assert.equal(lines.length, FIELDS.lines.length);
});

// Holds S5.14.
test('400 MISSING_PARAMETER without a type, INVALID_PARAMETER for another one; both are metered', async () => {
  const before = await shop.service.usageOf(shop.keys.teamID);
  for (const query of [{}, { type: '' }] as Record<string, string>[])
    expectRefusal(await ask(query), 400, 'MISSING_PARAMETER', 'type');
  for (const type of ['order', 'ORDERS', 'orders ', 'constructor']) {
    const message = expectRefusal(await ask({ type }), 400, 'INVALID_PARAMETER', 'type');
    assert.match(message, /orders, lines, customers or inventory/);
  }
  assert.equal(await shop.service.usageOf(shop.keys.teamID), before + 6);
});
