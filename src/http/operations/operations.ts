/**
 * The operations of the API, in the order of the contract. This file has the operations on customers, inventory,
 * the ledger, fields and usage; orders.ts, office.ts, batch.ts and changes.ts have the others.
 */
import { listFields, listMovements } from '../../pims/operations.ts';
import { buildDictionaries, RECORD_TYPES, viewField, type RecordType } from '../../pims/rules/fields.ts';
import { KEY_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import { quotaOf } from '../../tenant/calls.ts';
import { renderEnvelope } from '../server/answer.ts';
import { signalOf } from '../server/connections.ts';
import { limitOf, type AnswerLimits } from './cursor.ts';
import { textOf, listOf, required } from '../../json-schema.ts';
import { batchOperation } from './batch.ts';
import { changesOperation } from './changes.ts';
import { CUSTOMER_EXAMPLE, MOVEMENT_EXAMPLE, PART_EXAMPLE } from './examples.ts';
import { fieldsBody, ref, querySchema, afterOf, maxReturnOf } from './operation-schemas.ts';
import { PART_OFFICE } from './office.ts';
import { declarePage, declareSingle, declareWrite, type Operation, type Call } from './operation.ts';
import { orderOperations } from './orders.ts';

const CUSTOMER = ref('Customer');
const CUSTOMER_CODE = textOf('The CUSTOMER_CODE.');
const NEW_CUSTOMER = fieldsBody('NewCustomer', 'customers', 'Fields of the new customer.');
const CUSTOMER_CHANGE = fieldsBody('CustomerChange', 'customers', 'The customer and the fields to change.', {
  needed: ['CUSTOMER_CODE'],
  base: NEW_CUSTOMER,
});

const customerOperations = (limits: AnswerLimits): Operation[] => [
  {
    name: 'getCustomer',
    path: '/customers/single',
    summary: 'One customer',
    description: 'Returns the customer with this CUSTOMER_CODE.',
    ...declareSingle('customers', CUSTOMER, 'customerCode', 'The CUSTOMER_CODE.'),
    example: { query: { customerCode: 'VINET' }, answer: CUSTOMER_EXAMPLE },
  },
  {
    name: 'queryCustomers',
    path: '/customers/query',
    summary: 'Filtered list of customers',
    description:
      'Returns one page of the customers that match the filters, sorted by CUSTOMER_CODE unless you send sort.',
    ...declarePage('customers', CUSTOMER, limits),
    example: {
      body: [
        { field: 'BCITY', value: 'Reims' },
        { field: 'CUSTOMER_NAME', value: 'vins', contains: true, conjunction: 'OR' },
      ],
      answer: [CUSTOMER_EXAMPLE],
    },
  },
  {
    method: 'PUT',
    path: '/customers/create',
    summary: 'Create a customer',
    description: `Returns the CUSTOMER_CODE in data: the one you sent if it is free (up to ${KEY_CHARACTERS_MAX} characters), or the next number if you sent none. A code already in use is rejected with CODE_TAKEN.`,
    ...declareWrite('createCustomer', NEW_CUSTOMER, CUSTOMER_CODE),
    example: {
      body: {
        CUSTOMER_NAME: 'Harbour Lane Books',
        BNAME: 'Harbour Lane Books',
        BEMAIL: 'orders@harbourlane.example.com',
        BCITY: 'Portland',
        BSTATE: 'ME',
      },
      answer: '50009',
    },
  },
  {
    method: 'POST',
    path: '/customers/update',
    summary: 'Update a customer',
    description: 'Changes fields of the customer with this CUSTOMER_CODE. Returns the CUSTOMER_CODE in data.',
    takesIfMatch: true,
    ...declareWrite('updateCustomer', CUSTOMER_CHANGE, CUSTOMER_CODE),
    example: { body: { CUSTOMER_CODE: 'VINET', BPHONE: '26.47.15.10', NOTES: null }, answer: 'VINET' },
  },
];

const ITEM = ref('InventoryItem');

const inventoryOperations = (limits: AnswerLimits): Operation[] => [
  {
    name: 'getInventoryItem',
    path: '/inventory/single',
    summary: 'One inventory item',
    description:
      'Returns the part with this PART_CODE. QTY_AVAILABLE is QTY_ONHAND minus QTY_COMMITTED and may be negative.',
    ...declareSingle('inventory', ITEM, 'partCode', 'The PART_CODE. Percent-encode /, #, + and spaces in the URL.'),
    example: { query: { partCode: '11' }, answer: PART_EXAMPLE },
  },
  {
    name: 'queryInventoryItems',
    path: '/inventory/query',
    summary: 'Filtered list of inventory items',
    description: 'Returns one page of the parts that match the filters, sorted by PART_CODE unless you send sort.',
    ...declarePage('inventory', ITEM, limits),
    example: {
      body: [{ field: 'PART_DESCRIPTION', value: 'queso cab', contains: true }],
      answer: [PART_EXAMPLE],
    },
  },
  {
    name: 'listMovements',
    method: 'GET',
    path: '/stock/movements',
    summary: 'Ledger of a part',
    description:
      'Returns the movements of QTY_ONHAND of a part in the order of NUMBER, from 1 or after a NUMBER. To get the next page, send X-Next-After as after.',
    kind: 'ledger',
    query: querySchema(
      { partCode: required('The PART_CODE.') },
      {
        after: afterOf('X-Next-After of the previous page, the NUMBER of its last movement. Default 0.'),
        maxReturn: maxReturnOf(limits),
      },
    ),
    answer: listOf(ref('Movement')),
    example: { query: { partCode: '11', after: 0 }, answer: [MOVEMENT_EXAMPLE] },
    run: async ({ store, query, reply }: Call) => {
      const { partCode = '', after = '0', maxReturn } = query;
      const asked = { after: Number(after), limit: limitOf(maxReturn, limits) };
      const { movements, next, hasMore } = await listMovements(store, partCode, asked, signalOf(reply));
      reply.header('x-next-after', String(next)).header('x-has-more', String(hasMore));
      return renderEnvelope(JSON.stringify(movements));
    },
  },
];

const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$';

const TEAM_OPERATIONS: readonly Operation[] = [
  {
    name: 'listFields',
    method: 'GET',
    path: '/fields',
    summary: 'Fields of a record type',
    description: 'Returns the fields of the record type, in their order in a record.',
    kind: 'lookup',
    query: querySchema({
      type: required('The record type: orders, lines, customers or inventory.', {
        pattern: `^(${Object.keys(RECORD_TYPES).join('|')})$`,
      }),
    }),
    example: {
      query: { type: 'orders' },
      answer: [...buildDictionaries([]).orders.values()].slice(0, 2).map(viewField),
    },
    run: async ({ store, query }: Call) => renderEnvelope(await listFields(store, query['type'] as RecordType)),
  },
  {
    name: 'getUsage',
    method: 'GET',
    path: '/usage',
    summary: 'Calls of a month',
    description: 'Returns the calls of the team in a month by day and operation, including this call.',
    kind: 'lookup',
    query: querySchema(
      {},
      { month: textOf('The month (UTC), such as 2026-11. Default: the current month.', { pattern: MONTH }) },
    ),
    example: {
      query: { month: '2026-11' },
      answer: {
        month: '2026-11',
        total: 214,
        quota: null,
        days: [{ day: '2026-11-20', operation: 'getOrder', calls: 214 }],
      },
    },
    run: async ({ usage, query, context, reply: { request } }: Call) => {
      const { teamId } = request.tenant!;
      const quota = quotaOf(request.tenant!);
      const month = query['month'] ?? context.now.slice(0, 7);
      // Waits until this call is counted.
      await request.counted?.monthRequests();
      const { total, byDay: days } = await usage.loadUsage(teamId, month);
      return renderEnvelope(JSON.stringify({ month, total, quota, days }));
    },
  },
];

export function allOperations(limits: AnswerLimits): Operation[] {
  const ofRecords = [
    ...orderOperations(limits),
    ...customerOperations(limits),
    ...inventoryOperations(limits),
    ...PART_OFFICE,
  ];
  return [...ofRecords, batchOperation(ofRecords), changesOperation(limits), ...TEAM_OPERATIONS];
}
