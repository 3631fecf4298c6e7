/** Tests that the TypeScript and the Python client derive the same fulfillment from a storefront lookup. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  deriveFulfillment,
  type Fulfillment,
  type FulfillmentLine,
  type StorefrontItem,
  type StorefrontLookup,
  type StorefrontOrder,
} from '../../client/src/storeroom.ts';

/**
 * Returns an item from `part:shipped/quantity:serials`. The part of a care plan begins with `P-`; `=Chair` has a
 * description and no part.
 */
function itemOf(text: string): StorefrontItem {
  const [part = '', units = '', serials = ''] = text.split(':');
  const [shipped, quantity] = units.split('/').map(Number);
  return {
    part_number: part.startsWith('=') ? '' : part,
    description: part.startsWith('=') ? part : `about ${part}`,
    quantity: quantity!,
    shipped: shipped!,
    serial_numbers: serials === '' ? [] : serials.split(','),
    is_care_plan: part.startsWith('P-'),
  };
}

const orderOf = (
  stage: StorefrontOrder['order_type'],
  items: string,
  more: Partial<StorefrontOrder> = {},
): StorefrontOrder => ({
  order_type: stage,
  pims_order_number: '1',
  create_date: null,
  modified_date: null,
  tracking_numbers: [],
  is_dropship: false,
  shipping_address: {
    name: '',
    attention: '',
    address_1: '',
    address_2: '',
    city: '',
    state: '',
    zip: '',
    country: '',
    phone: '',
  },
  items: items === '' ? [] : items.split(' ').map(itemOf),
  ...more,
});

/** Formats a line as `itemOf` reads it, followed by its open and returned units and the line that it covers. */
const show = ({ partNumber, description, shipped, ordered, serialNumbers, open, returned, parent }: FulfillmentLine) =>
  `${partNumber || description}:${shipped}/${ordered}:${serialNumbers.join()} open ${open}${returned === 0 ? '' : ` back ${returned}`}${parent === undefined ? '' : ` of ${parent}`}`;

const cancelled = { cancelled: true } as const;
const invoice = (items: string, more?: Partial<StorefrontOrder>): StorefrontOrder => orderOf('invoice', items, more);
const open = (items: string, more?: Partial<StorefrontOrder>): StorefrontOrder => orderOf('sales_order', items, more);
type Case = [guarantee: string, orders: StorefrontOrder[], state: Fulfillment['state'], lines: string[]];
const CASES: Case[] = [
  ['no orders: the state is unknown', [], 'unknown', []],
  ['worksheets and quotes are drafts', [orderOf('quote', 'A:0/2'), orderOf('worksheet', 'A:0/1')], 'draft', []],
  ['a sales order is open', [open('A:0/2')], 'open', ['A:0/2: open 2']],
  ['a sales order without lines is open', [open('')], 'open', []],
  ['an invoice without lines is shipped', [invoice('')], 'shipped', []],
  ['a draft beside a sales order is ignored', [open('A:0/2'), orderOf('quote', 'A:0/7')], 'open', ['A:0/2: open 2']],
  ['cancelled orders are cancelled', [open('A:0/2', cancelled), orderOf('quote', 'A:0/1', cancelled)], 'cancelled', []],
  [
    'cancelled orders beside others are ignored',
    [invoice('A:1/1'), open('A:0/2', cancelled)],
    'shipped',
    ['A:1/1: open 0'],
  ],
  [
    'a partial invoice and its backorder are one order',
    [invoice('A:1/1:S1 B:2/2'), open('A:0/2')],
    'partly_shipped',
    ['A:1/3:S1 open 2', 'B:2/2: open 0'],
  ],
  [
    'lines without a part are distinguished by their descriptions',
    [invoice('=Chair:1/1 =Lamp:2/2'), open('=Chair:0/3')],
    'partly_shipped',
    ['=Chair:1/4: open 3', '=Lamp:2/2: open 0'],
  ],
  [
    'a care plan of a product without a part has no serial numbers',
    [invoice('=Chair:1/1:S1 P-C:1/1 =Lamp:1/1:T1')],
    'shipped',
    ['=Chair:1/1:S1 open 0', 'P-C:1/1: open 0 of ', '=Lamp:1/1:T1 open 0'],
  ],
  ['an invoice that shipped less is still open', [invoice('A:1/2')], 'partly_shipped', ['A:1/2: open 1']],
  ['decimals add up exactly', [invoice('A:0.1/0.1'), invoice('A:0.2/0.2')], 'shipped', ['A:0.3/0.3: open 0']],
  [
    'a return lowers no shipped quantity',
    [invoice('A:2/2:S1,S2'), invoice('A:-1/-1')],
    'shipped',
    ['A:2/2:S1,S2 open 0 back 1'],
  ],
  [
    'a returned care plan counts where its invoice has it, beside whatever it is returned',
    [
      invoice('P-A:-1/-1 B:-1/-1', { return_of: '1' }),
      invoice('P-A:-1/-1', { return_of: '1' }),
      invoice('A:1/1:S1 P-A:2/2 B:1/1:T1'),
    ],
    'shipped',
    ['A:1/1:S1 open 0', 'P-A:2/2:S1 open 0 back 2 of A', 'B:1/1:T1 open 0 back 1'],
  ],
  [
    'a returned care plan of two products counts under the product with which it is returned',
    [invoice('B:-1/-1 P-X:-1/-1', { return_of: '1' }), invoice('A:1/1:S1 P-X:1/1 B:1/1:T1 P-X:1/1')],
    'shipped',
    ['A:1/1:S1 open 0', 'P-X:1/1:S1 open 0 of A', 'B:1/1:T1 open 0 back 1', 'P-X:1/1:T1 open 0 back 1 of B'],
  ],
  ['an order with only returns is not open', [invoice('A:-1/-1')], 'shipped', ['A:0/0: open 0 back 1']],
  [
    'a care plan has the serial numbers of the product before it',
    [invoice('A:1/1:S1 P-A:1/1 B:2/2:T1,T2 P-B:2/2')],
    'shipped',
    ['A:1/1:S1 open 0', 'P-A:1/1:S1 open 0 of A', 'B:2/2:T1,T2 open 0', 'P-B:2/2:T1,T2 open 0 of B'],
  ],
  [
    'the same plan of two products is two lines',
    [invoice('A:1/1:S1 P-X:1/1 B:1/1:T1 P-X:1/1')],
    'shipped',
    ['A:1/1:S1 open 0', 'P-X:1/1:S1 open 0 of A', 'B:1/1:T1 open 0', 'P-X:1/1:T1 open 0 of B'],
  ],
  [
    'a care plan on the first line covers the product after it',
    [open('P-A:0/1 A:0/1')],
    'open',
    ['P-A:0/1: open 1 of A', 'A:0/1: open 1'],
  ],
  [
    'a care plan that a partial invoice separates from its product still covers it',
    [invoice('A:2/2:S1,S2 P-A:1/1'), open('P-A:0/1')],
    'partly_shipped',
    ['A:2/2:S1,S2 open 0', 'P-A:1/2:S1,S2 open 1 of A'],
  ],
  [
    'a care plan covers the only product, even if it was never next to it',
    [invoice('A:1/1:S1'), open('P-A:0/1')],
    'partly_shipped',
    ['A:1/1:S1 open 0', 'P-A:0/1:S1 open 1 of A'],
  ],
  [
    'a care plan that is next to several products covers none of them',
    [invoice('A:1/1:S1 P-X:1/1 B:1/1:T1 P-X:1/1'), open('P-X:0/1')],
    'partly_shipped',
    ['A:1/1:S1 open 0', 'P-X:1/1:S1 open 0 of A', 'B:1/1:T1 open 0', 'P-X:1/1:T1 open 0 of B', 'P-X:0/1: open 1'],
  ],
  [
    'a care plan apart from several products covers none of them',
    [invoice('A:1/1:S1 B:1/1:T1'), open('P-X:0/1')],
    'partly_shipped',
    ['A:1/1:S1 open 0', 'B:1/1:T1 open 0', 'P-X:0/1: open 1'],
  ],
];

for (const [guarantee, orders, state, lines] of CASES)
  test(guarantee, () => {
    const found = deriveFulfillment({ orders });
    assert.equal(found.state, state);
    assert.deepEqual(found.lines.map(show), lines);
    const total = (member: 'ordered' | 'shipped' | 'open'): number =>
      Math.round(found.lines.reduce((sum, line) => sum + line[member], 0) * 1000) / 1000;
    assert.deepEqual([found.ordered, found.shipped, found.open], [total('ordered'), total('shipped'), total('open')]);
  });

test('tracking numbers of invoices and open sales orders are listed once, in the order of the lookup', () => {
  const orders = [
    invoice('A:1/1', { tracking_numbers: ['T2', 'T1'] }),
    invoice('A:1/1', { tracking_numbers: ['T1', 'T0'] }),
    open('A:0/1', { ...cancelled, tracking_numbers: ['X'] }),
    orderOf('quote', '', { tracking_numbers: ['Y'] }),
  ];
  assert.deepEqual(deriveFulfillment({ orders }).trackingNumbers, ['T2', 'T1', 'T0']);
});

test('the Python client derives the same', () => {
  const program = `
import dataclasses, json, sys
from storeroom import derive_fulfillment
print(json.dumps([dataclasses.asdict(derive_fulfillment({"orders": orders})) for orders in json.load(sys.stdin)]))`;
  const lookups: StorefrontLookup['orders'][] = CASES.map(([, orders]) => orders);
  const output = execFileSync('python3', ['-B', '-c', program], {
    input: JSON.stringify(lookups),
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: join(import.meta.dirname, '../../client-python') },
  });
  const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const found = JSON.parse(output, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [camel(name), member]))
      : value,
  ) as unknown[];
  const whole = lookups.map((orders) => {
    const fulfillment = deriveFulfillment({ orders });
    return { ...fulfillment, lines: fulfillment.lines.map((line) => ({ ...line, parent: line.parent ?? null })) };
  });
  assert.deepEqual(found, whole);
});
