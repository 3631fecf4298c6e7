/** The operations on orders and their lines. */
import { findOrdersByStorefrontReference, findOrdersByStorefrontReferences, getOrder } from '../../pims/operations.ts';
import { NUMBERS_MAX } from '../../pims/rules/record-bounds.ts';
import { signalOf } from '../server/connections.ts';
import type { AnswerLimits } from './cursor.ts';
import { renderEnvelope, setTag } from '../server/answer.ts';
import { listOf, NULL, objectOf, required, textOf } from '../../json-schema.ts';
import {
  LINE_EXAMPLE,
  LOOKUP_EXAMPLE,
  NEW_LINE_EXAMPLE,
  NEW_ORDER,
  NEW_ORDER_EXAMPLE,
  ORDER_EXAMPLE,
} from './examples.ts';
import { FIELDS, fieldsBody, membersBody, NUMBERS_BODY, querySchema, ref } from './operation-schemas.ts';
import { ORDER_OFFICE } from './office.ts';
import { declarePage, parseFields, declareWrite, type Call, type Operation } from './operation.ts';

const ORDER = ref('Order');
const LINE = ref('OrderLine');
const LINES = { anyOf: [listOf(objectOf({ ORDER_LINEITEMS: LINE }), { minItems: 1 }), NULL] };
const ORDER_FIELDS = fieldsBody('NewOrder', 'orders', 'Fields of the new order.');
const NEW_LINE = fieldsBody('NewOrderLine', 'lines', 'The order and the fields of the new line.', {
  needed: ['ORDER_NUMBER'],
  refused: ['NUMBER_SHIPPED'],
});
const LINE_CHANGE = fieldsBody('OrderLineChange', 'lines', 'The line and the fields to change.', {
  needed: ['ORDER_NUMBER', 'LINE_REF_LOCK_CODE'],
  base: NEW_LINE,
});

const ORDER_CHANGE = fieldsBody('OrderChange', 'orders', 'The order and the fields to change.', {
  needed: ['ORDER_NUMBER'],
  refused: ['ORDER_TYPE'],
});
const { ORDER_NUMBER: NEW_ORDER_NUMBER } = NEW_ORDER_EXAMPLE;
const CHANGE = { SHIP_VIA: 'Federal Shipping', ORDER_STATUS: 'PACKING' };
const ORDER_TO_CANCEL = membersBody('OrderToCancel', 'The ORDER_NUMBER.', {
  ORDER_NUMBER: ref('Value', 'The ORDER_NUMBER.'),
});

export const orderOperations = (limits: AnswerLimits): Operation[] => [
  ...orderReads(limits),
  ...storefrontLookups(limits),
  ...ORDER_WRITES,
  ...ORDER_OFFICE,
];

const orderReads = (limits: AnswerLimits): Operation[] => [
  {
    name: 'getOrder',
    path: '/orders/single',
    summary: 'One order with its line items',
    description: 'Returns the order with this number. subRecords lists its lines and is null if it has none.',
    method: 'GET',
    kind: 'single',
    query: querySchema({ orderNum: required('The ORDER_NUMBER.') }, FIELDS),
    answer: ORDER,
    subRecords: LINES,
    run: async ({ store, query, reply }: Call) => {
      const { order, lines, tag } = await getOrder(store, query['orderNum']!, signalOf(reply), parseFields(query));
      setTag(reply, tag, query['fields']);
      return renderEnvelope(order, lines);
    },
    example: {
      query: { orderNum: '10248' },
      answer: ORDER_EXAMPLE,
      subRecords: [{ ORDER_LINEITEMS: LINE_EXAMPLE }],
    },
  },
  {
    name: 'queryOrders',
    path: '/orders/query',
    summary: 'Filtered list of orders',
    description:
      'Returns one page of the orders that match the filters, sorted by ORDER_NUMBER unless you send sort. subRecords is null without include=lines.',
    ...declarePage('orders', ORDER, limits, {
      query: {
        include: textOf('Set to lines to get the lines of all orders on the page in subRecords.', { enum: ['lines'] }),
      },
      subRecords: LINES,
    }),
    example: {
      body: [
        { field: 'CUSTOMER_CODE', value: 'VINET' },
        { field: 'SHIP_VIA', value: 'federal', contains: true, conjunction: 'AND' },
      ],
      answer: [ORDER_EXAMPLE],
    },
  },
  {
    name: 'queryLines',
    path: '/lines/query',
    summary: 'Filtered list of line items',
    description:
      'Returns one page of the lines of all orders that match the filters, sorted by ORDER_NUMBER and LINE_NUMBER unless you send sort. On SERIAL_NUMBERS, eq, ne and in compare with each single number of the list.',
    ...declarePage('lines', LINE, limits),
    example: { body: [{ field: 'PART_CODE', value: '11' }], answer: [LINE_EXAMPLE] },
  },
];

const storefrontLookups = (limits: AnswerLimits): Operation[] => [
  {
    name: 'findOrdersByStorefrontReference',
    method: 'GET',
    path: '/orders/by_storefront_reference',
    summary: 'Orders by storefront order number',
    description:
      "Returns every order with this storefront number. Fulfillment is not calculated; add the records up yourself or use the client's deriveFulfillment.",
    kind: 'lookup',
    query: querySchema({
      storefront_order_number: required('The exact REFERENCE_NUMBER. Write its leading # as %23 in the URL.'),
    }),
    answer: ref('StorefrontLookup'),
    isBare: true,
    example: { query: { storefront_order_number: '#1001' }, answer: LOOKUP_EXAMPLE },
    run: async ({ store, query, reply }: Call) => {
      const options = { recordsMax: limits.lookupRecordsMax, signal: signalOf(reply) };
      return findOrdersByStorefrontReference(store, query['storefront_order_number']!, options);
    },
  },
  {
    name: 'findOrdersByStorefrontReferences',
    method: 'POST',
    path: '/orders/by_storefront_reference',
    summary: 'Orders by many storefront order numbers',
    description:
      'Returns the same result as the single lookup, one entry per number, in the order you sent them. Duplicates are repeated.',
    kind: 'lookups',
    query: querySchema(),
    body: NUMBERS_BODY,
    answer: listOf(ref('StorefrontLookup'), { minItems: 1, maxItems: NUMBERS_MAX }),
    isBare: true,
    example: {
      body: ['#1001', '#9999'],
      answer: [LOOKUP_EXAMPLE, { storefront_order_number: '#9999', orders: [] }],
    },
    run: async ({ store, body, reply }: Call<unknown>) => {
      const options = { recordsMax: limits.lookupRecordsMax, signal: signalOf(reply) };
      return findOrdersByStorefrontReferences(store, body, options);
    },
  },
];

const ORDER_WRITES: readonly Operation[] = [
  {
    method: 'PUT',
    path: '/orders/create',
    summary: 'Create an order',
    description: 'Creates an order without lines. All fields are optional. Returns the new ORDER_NUMBER in data.',
    ...declareWrite('createOrder', ORDER_FIELDS, textOf('The ORDER_NUMBER.')),
    example: {
      body: NEW_ORDER,
      answer: NEW_ORDER_NUMBER,
    },
  },
  {
    method: 'PUT',
    path: '/orders/line_item',
    summary: 'Add a line item',
    description:
      'Adds a line to an order, with NUMBER_SHIPPED 0. Returns the line in data; its LINE_REF_LOCK_CODE identifies it in updates.',
    takesIfMatch: true,
    ...declareWrite('addLineItem', NEW_LINE, LINE),
    example: {
      body: { ORDER_NUMBER: '20006', PART_CODE: '11', QUANTITY: '12', UNIT_PRICE: '14' },
      answer: NEW_LINE_EXAMPLE,
    },
  },
  {
    method: 'POST',
    path: '/orders/line_item',
    summary: 'Update a line item',
    description: 'Changes fields of the line with this LINE_REF_LOCK_CODE. Returns the line in data.',
    takesIfMatch: true,
    ...declareWrite('updateLineItem', LINE_CHANGE, LINE),
    example: {
      body: { ORDER_NUMBER: '20006', LINE_REF_LOCK_CODE: NEW_LINE_EXAMPLE.LINE_REF_LOCK_CODE, QUANTITY: '10' },
      answer: { ...NEW_LINE_EXAMPLE, QUANTITY: '10' },
    },
  },
  {
    method: 'POST',
    path: '/orders/update',
    summary: 'Update an order',
    description:
      'Changes fields of an order, but not its stage. Returns the order in data. Changing DROP_SHIP adjusts the ' +
      'committed stock. On an invoice only NOTES, ORDER_STATUS, TRACKING_NUMBERS, SHIP_VIA and custom fields can be ' +
      'changed; on a cancelled order only NOTES.',
    takesIfMatch: true,
    ...declareWrite('updateOrder', ORDER_CHANGE, ref('Order')),
    example: {
      body: { ORDER_NUMBER: NEW_ORDER_NUMBER, ...CHANGE },
      answer: { ...NEW_ORDER_EXAMPLE, ...CHANGE },
    },
  },
  {
    method: 'POST',
    path: '/orders/cancel',
    summary: 'Cancel an order',
    description:
      'Releases the stock the order holds and sets ORDER_STATUS to CANCELLED. After that only NOTES can be changed. ' +
      'Returns the order in data. An invoice cannot be cancelled. Cancelling a cancelled order succeeds.',
    takesIfMatch: true,
    ...declareWrite('cancelOrder', ORDER_TO_CANCEL, ref('Order')),
    example: {
      body: { ORDER_NUMBER: NEW_ORDER_NUMBER },
      answer: { ...NEW_ORDER_EXAMPLE, ...CHANGE, ORDER_STATUS: 'CANCELLED' },
    },
  },
];
