/**
 * The six operations on orders and their lines. Source: specification 4.1 to 4.6.
 */
import {
  addLineItem,
  createOrder,
  findOrdersByStorefrontReference,
  getOrder,
  queryOrders,
  updateLineItem,
} from '../../pims/operations.ts';
import type { PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { listOf, NULL, objectOf, required, textOf } from '../schemas.ts';
import { LINE_EXAMPLE, LOOKUP_EXAMPLE, NEW_LINE_EXAMPLE, ORDER_EXAMPLE } from './examples.ts';
import { fieldsBody, queryOf, ref } from './operation-schemas.ts';
import { queryOperation, singleOperation, writeOperation, type Call, type Operation } from './operation.ts';

export const orderOperations = (limits: PageLimits): Operation[] => [...readOperations(limits), ...WRITE_OPERATIONS];

const readOperations = (limits: PageLimits): Operation[] => [
  singleOperation({
    name: 'getOrder',
    path: '/orders/single',
    tag: 'Orders',
    summary: 'One order with its line items',
    description: 'The order with this number. subRecords lists its lines and is null when there are none.',
    parameter: { name: 'orderNum', description: 'The ORDER_NUMBER.', example: '10248' },
    data: ref('Order'),
    subRecords: { anyOf: [listOf(objectOf({ ORDER_LINEITEMS: ref('OrderLine') }), { minItems: 1 }), NULL] },
    example: { data: ORDER_EXAMPLE, subRecords: [{ ORDER_LINEITEMS: LINE_EXAMPLE }] },
    get: async (store, orderNumber) => {
      const { order, lines } = await getOrder(store, orderNumber);
      return renderEnvelope(order, lines);
    },
  }),
  queryOperation(
    {
      name: 'queryOrders',
      path: '/orders/query',
      tag: 'Orders',
      summary: 'Filtered list of orders',
      description: 'One page of the orders that match the filters, by ORDER_NUMBER ascending.',
      recordType: 'orders',
      record: ref('Order'),
      example: {
        filters: [
          { field: 'CUSTOMER_CODE', value: 'VINET' },
          { field: 'SHIP_VIA', value: 'federal', contains: true, conjunction: 'AND' },
        ],
        record: ORDER_EXAMPLE,
      },
      find: queryOrders,
    },
    limits,
  ),
  {
    name: 'findOrdersByStorefrontReference',
    method: 'GET',
    path: '/orders/by_storefront_reference',
    tag: 'Orders',
    summary: 'Orders by storefront order number',
    description: 'Every order with this storefront number, each as PIMS has it. Computes no fulfilment.',
    kind: 'lookup',
    query: queryOf({
      storefront_order_number: required('REFERENCE_NUMBER as PIMS has it. Write its leading # as %23 in the URL.'),
    }),
    answer: ref('StorefrontLookup'),
    example: { query: { storefront_order_number: '#1001' }, answer: LOOKUP_EXAMPLE },
    run: async ({ store, query }: Call) =>
      JSON.stringify(await findOrdersByStorefrontReference(store, query['storefront_order_number']!)),
  },
];

const NEW_LINE = fieldsBody({
  name: 'NewOrderLine',
  recordType: 'lines',
  description: 'The order and the fields of the new line. Credentials may be members too.',
  needed: ['ORDER_NUMBER'],
  refused: ['NUMBER_SHIPPED'],
});

const WRITE_OPERATIONS: readonly Operation[] = [
  writeOperation({
    name: 'createOrder',
    method: 'PUT',
    path: '/orders/create',
    tag: 'Orders',
    summary: 'Create an order',
    description: 'Creates an order without lines; all fields are optional. Data is the new ORDER_NUMBER.',
    body: fieldsBody({
      name: 'NewOrder',
      recordType: 'orders',
      description: 'Fields of the new order. Credentials may be members too.',
    }),
    data: textOf('The ORDER_NUMBER.'),
    example: {
      body: {
        REFERENCE_NUMBER: '#1013',
        CUSTOMER_CODE: 'VINET',
        ORDER_DATE: '11/20/2026',
        BNAME: 'Vins et alcools Chevalier',
        BCITY: 'Reims',
      },
      data: '20015',
    },
    write: createOrder,
  }),
  writeOperation({
    name: 'addLineItem',
    method: 'PUT',
    path: '/orders/line_item',
    tag: 'Orders',
    summary: 'Add a line item',
    description:
      'Adds a line to an order, with NUMBER_SHIPPED 0. Data is the line; its LINE_REF_LOCK_CODE names it in updates.',
    body: NEW_LINE,
    data: ref('OrderLine'),
    example: {
      body: { ORDER_NUMBER: '20006', PART_CODE: '11', QUANTITY: '12', UNIT_PRICE: '14' },
      data: NEW_LINE_EXAMPLE,
    },
    write: addLineItem,
  }),
  writeOperation({
    name: 'updateLineItem',
    method: 'POST',
    path: '/orders/line_item',
    tag: 'Orders',
    summary: 'Update a line item',
    description: 'Changes fields of the line with this LINE_REF_LOCK_CODE. Data is the changed line.',
    body: fieldsBody({
      name: 'OrderLineChange',
      recordType: 'lines',
      base: NEW_LINE,
      description: 'The line and the fields to change. Credentials may be members too.',
      needed: ['ORDER_NUMBER', 'LINE_REF_LOCK_CODE'],
    }),
    data: ref('OrderLine'),
    example: {
      body: { ORDER_NUMBER: '20006', LINE_REF_LOCK_CODE: NEW_LINE_EXAMPLE.LINE_REF_LOCK_CODE, QUANTITY: '10' },
      data: { ...NEW_LINE_EXAMPLE, QUANTITY: '10' },
    },
    write: updateLineItem,
  }),
];
