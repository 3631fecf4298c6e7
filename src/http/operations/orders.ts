/**
 * The six operations on orders and their lines: path, schemas, example, and the one call into the engine. Source: specification 4.1 to 4.6.
 */
import {
  addLineItem,
  createOrder,
  findOrdersByStorefrontReference,
  getOrder,
  queryOrders,
  updateLineItem,
} from '../../pims/operations.ts';
import type { Filter } from '../../pims/filter.ts';
import { parsePage, setPageHeaders, type PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { LINE_EXAMPLE, LOOKUP_EXAMPLE, NEW_LINE_EXAMPLE, ORDER_EXAMPLE } from './examples.ts';
import type { Call, Operation } from './operation.ts';
import {
  envelopeOf,
  fieldsBody,
  filtersBody,
  listOf,
  NULL,
  objectOf,
  pageQuery,
  queryOf,
  recordAnswer,
  required,
  storefrontAnswer,
  textOf,
} from '../schemas.ts';
import { renderWritten } from '../writes.ts';

export const orderOperations = (limits: PageLimits): Operation[] => [...readOperations(limits), ...writeOperations()];

const readOperations = (limits: PageLimits): Operation[] => [
  {
    name: 'getOrder',
    method: 'GET',
    path: '/orders/single',
    tag: 'Orders',
    summary: 'One order with its line items',
    description: 'The order with this PIMS order number; subRecords lists its lines, and is null when it has none.',
    query: queryOf({ orderNum: required('PIMS order number.') }),
    writes: false,
    answer: envelopeOf(recordAnswer('orders'), {
      anyOf: [listOf(objectOf({ ORDER_LINEITEMS: recordAnswer('lines') }), { minItems: 1 }), NULL],
    }),
    example: {
      query: { orderNum: '10248' },
      answer: { status: 'success', data: ORDER_EXAMPLE, subRecords: [{ ORDER_LINEITEMS: LINE_EXAMPLE }] },
    },
    run: async ({ store, query }: Call) => {
      const { order, lines } = await getOrder(store, query['orderNum']!);
      return renderEnvelope(order, lines);
    },
  },
  {
    name: 'queryOrders',
    method: 'POST',
    path: '/orders/query',
    tag: 'Orders',
    summary: 'Filtered list of orders',
    description:
      'Orders that match the filters, by order number ascending. When there are more, X-Has-More is true and X-Next-Cursor goes on.',
    query: pageQuery,
    body: filtersBody,
    writes: false,
    answer: envelopeOf(listOf(recordAnswer('orders'))),
    example: {
      query: { maxReturn: '50' },
      body: [
        { field: 'CUSTOMER_CODE', value: 'VINET' },
        { field: 'SHIP_VIA', value: 'federal', contains: true, conjunction: 'AND' },
      ],
      answer: { status: 'success', data: [ORDER_EXAMPLE], subRecords: null },
    },
    run: async ({ store, query, body, reply }: Call<Filter[]>) => {
      const page = await queryOrders(store, { filters: body, ...parsePage('orders', query, limits) });
      setPageHeaders(reply, 'orders', page);
      return renderEnvelope(page.records);
    },
  },
  {
    name: 'findOrdersByStorefrontReference',
    method: 'GET',
    path: '/orders/by_storefront_reference',
    tag: 'Orders',
    summary: 'Orders by storefront order number',
    description:
      'The raw lifecycle state of every PIMS order with this storefront number: invoices first, then sales orders, quotes, worksheets. Computes no fulfilment. A leading # is written %23 in a URL.',
    query: queryOf({
      storefront_order_number: required('Order number as stored in PIMS, with its leading # (%23 in a URL).'),
    }),
    writes: false,
    answer: storefrontAnswer,
    example: { query: { storefront_order_number: '#1001' }, answer: LOOKUP_EXAMPLE },
    run: async ({ store, query }: Call) =>
      JSON.stringify(await findOrdersByStorefrontReference(store, query['storefront_order_number']!)),
  },
];

const writeOperations = (): Operation[] => [
  {
    name: 'createOrder',
    method: 'PUT',
    path: '/orders/create',
    tag: 'Orders',
    summary: 'Create an order',
    description:
      'Creates an order from any ORDERS fields, all optional; data is the new order number. ORDER_TYPE may be worksheet, quote or sales_order. Lines are added afterwards.',
    query: queryOf(),
    body: fieldsBody('orders', 'Fields of the new order; teamID, apiID and apiSecret may be among them.'),
    writes: true,
    answer: envelopeOf(textOf('The order number.')),
    example: {
      query: {},
      body: {
        REFERENCE_NUMBER: '#1013',
        CUSTOMER_CODE: 'VINET',
        ORDER_DATE: '11/20/2026',
        BNAME: 'Vins et alcools Chevalier',
        BCITY: 'Reims',
      },
      answer: { status: 'success', data: '20015', subRecords: null },
    },
    run: async ({ store, body, context, reply }: Call) => renderWritten(reply, await createOrder(store, body, context)),
  },
  {
    name: 'addLineItem',
    method: 'PUT',
    path: '/orders/line_item',
    tag: 'Orders',
    summary: 'Add a line item',
    description:
      'Adds a line to an order; data is the line with its LINE_NUMBER and LINE_REF_LOCK_CODE, which every later update of it needs. NUMBER_SHIPPED is 0.',
    query: queryOf(),
    body: fieldsBody('lines', 'ORDER_NUMBER and the fields of the line.', ['ORDER_NUMBER']),
    writes: true,
    answer: envelopeOf(recordAnswer('lines')),
    example: {
      query: {},
      body: { ORDER_NUMBER: '20006', PART_CODE: '11', QUANTITY: '12', UNIT_PRICE: '14' },
      answer: { status: 'success', data: NEW_LINE_EXAMPLE, subRecords: null },
    },
    run: async ({ store, body, context, reply }: Call) => renderWritten(reply, await addLineItem(store, body, context)),
  },
  {
    name: 'updateLineItem',
    method: 'POST',
    path: '/orders/line_item',
    tag: 'Orders',
    summary: 'Update a line item',
    description:
      'Changes fields of the line with this lock code; data is the line as it is now. NUMBER_SHIPPED may be set from 0 to QUANTITY.',
    query: queryOf(),
    body: fieldsBody('lines', 'ORDER_NUMBER, LINE_REF_LOCK_CODE and the fields to change.', [
      'ORDER_NUMBER',
      'LINE_REF_LOCK_CODE',
    ]),
    writes: true,
    answer: envelopeOf(recordAnswer('lines')),
    example: {
      query: {},
      body: { ORDER_NUMBER: '20006', LINE_REF_LOCK_CODE: NEW_LINE_EXAMPLE.LINE_REF_LOCK_CODE, QUANTITY: '10' },
      answer: { status: 'success', data: { ...NEW_LINE_EXAMPLE, QUANTITY: '10' }, subRecords: null },
    },
    run: async ({ store, body, context, reply }: Call) =>
      renderWritten(reply, await updateLineItem(store, body, context)),
  },
];
