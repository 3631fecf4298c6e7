/** Tests the storefront lookup: which order comes first, and what each order and item contains. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Values } from '../../src/pims/rules/values.ts';
import {
  refuseLargeLookup,
  renderItem,
  renderStorefrontOrders,
  type StorefrontLookup,
} from '../../src/pims/reads/storefront.ts';
import { valuesOf } from '../kit/lists.ts';
import { SHIPPING_ADDRESS } from '../kit/shipping-address.ts';

const lookUp = (number: string, orders: Values[], lines: Values[] = []): StorefrontLookup =>
  JSON.parse(
    renderStorefrontOrders(
      number,
      orders.map((order) => ({ order, items: lines.map(renderItem) })),
    ).json as string,
  ) as StorefrontLookup;
const view = (orders: Values[], lines?: Values[]) => lookUp('#1001', orders, lines).orders;

test('invoices come first, then sales orders, quotes and worksheets', () => {
  const orders = ['worksheet', 'invoice', 'quote', 'sales_order'].map((stage, index) => ({
    ORDER_TYPE: stage,
    ORDER_NUMBER: String(index),
  }));
  assert.deepEqual(valuesOf(view(orders), 'order_type'), ['invoice', 'sales_order', 'quote', 'worksheet']);
});

test('within a stage the newest is first, one without a date last; then the order number decides', () => {
  const order = (ORDER_NUMBER: string, CREATE_DATE: string): Values => ({
    ORDER_TYPE: 'invoice',
    ORDER_NUMBER,
    CREATE_DATE,
  });
  const orders = [
    order('1', ''),
    order('100', '2026-03-04T09:30:00.000Z'),
    order('99', '2026-03-04T09:30:00.000Z'),
    order('7', '2026-03-04T09:30:00.001Z'),
    order('A1', '2026-03-04T09:30:00.000Z'),
    order('😀1', '2026-03-04T09:30:00.000Z'),
    order('Ｗ1', '2026-03-04T09:30:00.000Z'),
    order('0', ''),
  ];
  assert.deepEqual(valuesOf(view(orders), 'pims_order_number'), ['7', '99', '100', 'A1', 'Ｗ1', '😀1', '0', '1']);
});

test('the sequence of the result depends only on the orders, not on the sequence of the store', () => {
  const order = fc.record({
    ORDER_TYPE: fc.constantFrom('worksheet', 'quote', 'sales_order', 'invoice'),
    ORDER_NUMBER: fc.oneof(fc.nat(200).map(String), fc.constantFrom('A1', 'B-2', '007')),
    CREATE_DATE: fc.constantFrom('', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
  });
  const stages = ['invoice', 'sales_order', 'quote', 'worksheet'];
  fc.assert(
    fc.property(
      fc
        .uniqueArray(order, { selector: (one) => one.ORDER_NUMBER, maxLength: 12 })
        .chain((orders) => fc.tuple(fc.constant(orders), fc.shuffledSubarray(orders, { minLength: orders.length }))),
      ([orders, shuffled]) => {
        const answer = view(shuffled);
        assert.deepEqual(answer, view(orders));
        assert.equal(answer.length, orders.length);
        for (const [index, later] of answer.slice(1).entries()) {
          const earlier = answer[index]!;
          const byStage = stages.indexOf(earlier.order_type) - stages.indexOf(later.order_type);
          const byDate =
            Date.parse(later.create_date ?? '0001-01-01') - Date.parse(earlier.create_date ?? '0001-01-01');
          const [a, b] = [Number(earlier.pims_order_number), Number(later.pims_order_number)];
          assert.ok(byStage < 0 || (byStage === 0 && (byDate < 0 || (byDate === 0 && (Number.isNaN(b) || a <= b)))));
        }
      },
    ),
  );
});

test('a field without a value in PIMS is null, false, an empty list or an empty text', () => {
  const empty = { ORDER_NUMBER: '', CREATE_DATE: '', DROP_SHIP: '', TRACKING_NUMBERS: '', SNAME: '' };
  const expected = {
    order_type: 'quote',
    pims_order_number: null,
    create_date: null,
    modified_date: null,
    tracking_numbers: [],
    is_dropship: false,
    shipping_address: Object.fromEntries(Object.keys(SHIPPING_ADDRESS).map((key) => [key, ''])),
    items: [],
  };
  assert.deepEqual(view([{ ORDER_TYPE: 'quote', ...empty }]), [expected]);
});

test('an order shows its ship-to address, its tracking numbers and whether it is drop-shipped', () => {
  const address = Object.fromEntries(Object.values(SHIPPING_ADDRESS).map((field) => [field, `the ${field}`]));
  const [order] = view([
    {
      ...address,
      BNAME: 'not this',
      DROP_SHIP: 'Y',
      TRACKING_NUMBERS: '1Z1, 1Z2',
      MODIFIED_DATE: '2026-03-04T09:30:00.000Z',
    },
  ]);
  const shown = Object.entries(SHIPPING_ADDRESS).map(([key, field]) => [key, `the ${field}`]);
  assert.deepEqual(order!.shipping_address, Object.fromEntries(shown));
  assert.deepEqual(order!.tracking_numbers, ['1Z1', '1Z2']);
  assert.equal(order!.is_dropship, true);
  assert.equal(order!.modified_date, '2026-03-04T09:30:00.000Z');
});

test('an item has exactly six fields, its quantities as numbers, and lines keep their order', () => {
  const lines = [
    {
      PART_CODE: 'MB/14',
      DESCRIPTION: 'Laptop',
      QUANTITY: '2',
      NUMBER_SHIPPED: '1.5',
      SERIAL_NUMBERS: 'S1,S2',
      CARE_PLAN: 'N',
      UNIT_PRICE: '9',
    },
    { PART_CODE: '', DESCRIPTION: '', QUANTITY: '', NUMBER_SHIPPED: '', SERIAL_NUMBERS: '', CARE_PLAN: '' },
  ];
  assert.deepEqual(view([{}], lines)[0]!.items, [
    {
      part_number: 'MB/14',
      description: 'Laptop',
      quantity: 2,
      shipped: 1.5,
      serial_numbers: ['S1', 'S2'],
      is_care_plan: false,
    },
    { part_number: '', description: '', quantity: 0, shipped: 0, serial_numbers: [], is_care_plan: false },
  ]);
});

test('a care plan never shows a serial number, even if PIMS has one', () => {
  const [item] = view([{}], [{ CARE_PLAN: 'Y', SERIAL_NUMBERS: 'S1', QUANTITY: '1', NUMBER_SHIPPED: '1' }])[0]!.items;
  assert.deepEqual(item!.serial_numbers, []);
  assert.equal(item!.is_care_plan, true);
});

test('the requested number is echoed, even if there is no order', () => {
  assert.deepEqual(lookUp('#9999', []), { storefront_order_number: '#9999', orders: [] });
});

test('a record without its fields is shown like one with empty fields, with nothing ordered or shipped', () => {
  const empty = { ORDER_TYPE: '', ORDER_NUMBER: '', CREATE_DATE: '', MODIFIED_DATE: '', TRACKING_NUMBERS: '' };
  const line = { PART_CODE: '', DESCRIPTION: '', QUANTITY: '0', NUMBER_SHIPPED: '0', SERIAL_NUMBERS: '' };
  assert.deepEqual(view([{}, {}], [{}]), view([empty, empty], [line]));
  const mixed = [{ CREATE_DATE: '2026-01-01T00:00:00.000Z', ORDER_NUMBER: '2' }, {}, { ORDER_NUMBER: '1' }];
  assert.deepEqual(valuesOf(view(mixed), 'pims_order_number'), ['2', '1', null]);
  assert.deepEqual(valuesOf(view(mixed.toReversed()), 'pims_order_number'), ['2', '1', null]);
});

test('RESULT_TOO_LARGE names the parameter and the bound', () => {
  const { code, field, message } = refuseLargeLookup(1000);
  assert.deepEqual([code, field], ['RESULT_TOO_LARGE', 'storefront_order_number']);
  assert.match(message, /at most 1000 orders/);
});
