/**
 * The operations of the API, in the order of the contract. This file has the operations on customers, inventory,
 * fields, usage and changes; orders.ts and batch.ts have the others.
 */
import { awaitChanges, CHANGED_TYPES, type Change, type ChangePage } from '../../pims/changes.ts';
import {
  createCustomer,
  getCustomer,
  queryCustomers,
  updateCustomer,
  getInventoryItem,
  queryInventoryItems,
  listFields,
} from '../../pims/operations.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import {
  buildDictionaries,
  RECORD_TYPES,
  viewField,
  type RecordType,
  type KeyedType,
} from '../../pims/rules/fields.ts';
import { KEY_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import type { Json } from '../../pims/writes/script.ts';
import { quotaOf } from '../../tenant/calls.ts';
import { renderEnvelope } from '../call/answer.ts';
import { limitOf, type AnswerLimits } from '../call/cursor.ts';
import { textOf, booleanOf, listOf, NULL, objectOf, required } from '../contract/json-schema.ts';
import { signalOf } from '../server/connections.ts';
import { batchOperation } from './batch.ts';
import { CUSTOMER_EXAMPLE, PART_EXAMPLE } from './examples.ts';
import { fieldsBody, ref, envelopeOf, querySchema, maxReturnOf } from './operation-schemas.ts';
import { envelope, page, single, write, type Operation, type Call } from './operation.ts';
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
    ...single('customerCode', 'The CUSTOMER_CODE.', CUSTOMER, getCustomer),
    example: { query: { customerCode: 'VINET' }, answer: envelope(CUSTOMER_EXAMPLE) },
  },
  {
    name: 'queryCustomers',
    path: '/customers/query',
    summary: 'Filtered list of customers',
    description:
      'Returns one page of the customers that match the filters, sorted by CUSTOMER_CODE unless you send sort.',
    ...page('customers', CUSTOMER, queryCustomers, limits),
    example: {
      body: [
        { field: 'BCITY', value: 'Reims' },
        { field: 'CUSTOMER_NAME', value: 'vins', contains: true, conjunction: 'OR' },
      ],
      answer: envelope([CUSTOMER_EXAMPLE]),
    },
  },
  {
    name: 'createCustomer',
    method: 'PUT',
    path: '/customers/create',
    summary: 'Create a customer',
    description: `Returns the CUSTOMER_CODE in data: the one you sent if it is free (up to ${KEY_CHARACTERS_MAX} characters), or the next number if you sent none. A code already in use is rejected with CODE_TAKEN.`,
    ...write(NEW_CUSTOMER, CUSTOMER_CODE, createCustomer),
    example: {
      body: {
        CUSTOMER_NAME: 'Harbour Lane Books',
        BNAME: 'Harbour Lane Books',
        BEMAIL: 'orders@harbourlane.example.com',
        BCITY: 'Portland',
        BSTATE: 'ME',
      },
      answer: envelope('50009'),
    },
  },
  {
    name: 'updateCustomer',
    method: 'POST',
    path: '/customers/update',
    summary: 'Update a customer',
    description: 'Changes fields of the customer with this CUSTOMER_CODE. Returns the CUSTOMER_CODE in data.',
    takesIfMatch: true,
    ...write(CUSTOMER_CHANGE, CUSTOMER_CODE, updateCustomer),
    example: { body: { CUSTOMER_CODE: 'VINET', BPHONE: '26.47.15.10', NOTES: null }, answer: envelope('VINET') },
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
    ...single('partCode', 'The PART_CODE. Percent-encode /, #, + and spaces in the URL.', ITEM, getInventoryItem),
    example: { query: { partCode: '11' }, answer: envelope(PART_EXAMPLE) },
  },
  {
    name: 'queryInventoryItems',
    path: '/inventory/query',
    summary: 'Filtered list of inventory items',
    description: 'Returns one page of the parts that match the filters, sorted by PART_CODE unless you send sort.',
    ...page('inventory', ITEM, queryInventoryItems, limits),
    example: {
      body: [{ field: 'PART_DESCRIPTION', value: 'queso cab', contains: true }],
      answer: envelope([PART_EXAMPLE]),
    },
  },
];

const FIELD = objectOf({
  name: textOf('Name of the field, in uppercase.'),
  type: textOf('Type of its values.', { enum: ['text', 'number', 'date', 'flag', 'timestamp'] }),
  description: textOf('Meaning of the field.'),
  required: booleanOf('Whether the field is required on a new record.'),
  assigned: booleanOf('Whether PIMS sets the field. If true, send it only to identify a record.'),
  indexed: booleanOf('Whether exact filters on it use an index.'),
  searched: booleanOf('Whether substring filters on it use an index.'),
  custom: booleanOf('Whether it is a custom field of the tenant.'),
  values: {
    anyOf: [listOf(textOf()), NULL],
    description: 'Allowed values, or null if every value of the type is allowed.',
  },
});

const COUNT = { type: 'integer', minimum: 0 };
const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$';
const USAGE = objectOf({
  month: textOf('The month (UTC).'),
  total: { ...COUNT, description: 'Calls in the month.' },
  quota: { type: ['integer', 'null'], description: 'Monthly call limit; null means no limit.' },
  days: listOf(
    objectOf({
      day: textOf('The day (UTC).'),
      operation: textOf('Name of the operation.'),
      calls: { ...COUNT, description: 'Calls of the operation on that day.' },
    }),
    { description: 'Calls by day and operation.' },
  ),
});

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
    answer: envelopeOf(listOf(FIELD)),
    example: {
      query: { type: 'orders' },
      answer: envelope([...buildDictionaries([]).orders.values()].slice(0, 2).map(viewField)),
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
    answer: envelopeOf(USAGE),
    example: {
      query: { month: '2026-11' },
      answer: envelope({
        month: '2026-11',
        total: 214,
        quota: null,
        days: [{ day: '2026-11-20', operation: 'getOrder', calls: 214 }],
      }),
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

const WAIT_SECONDS_MAX = 25;
/** Maximum changes whose records are read at the same time. */
const RECORDS_AT_ONCE = 50;
const CHANGED_TYPE = `(${CHANGED_TYPES.join('|')})`;
const CHANGE_EXAMPLE: Omit<Change, 'changes'> = {
  seq: '1024',
  type: 'orders',
  key: '10350',
  change: 'updated',
  at: '2026-11-20T16:41:07.312Z',
  operation: 'import',
  by: 'import',
};

const CHANGE = objectOf(
  {
    seq: textOf('Number of the change. Numbers ascend and can have gaps.', { pattern: '^[0-9]+$' }),
    type: textOf('Type of the record. A change to a line counts as a change to its order.', { enum: CHANGED_TYPES }),
    key: textOf('Key of the record: ORDER_NUMBER, CUSTOMER_CODE or PART_CODE.'),
    change: textOf('Whether the write created or updated the record.', { enum: ['created', 'updated'] }),
    at: textOf('Time of the write in UTC, in ISO 8601.'),
    operation: textOf('First operation or command of the call that wrote it, such as addLineItem or import.'),
    by: textOf('Name of the pair of keys, email address, command line or import; "" if it is not known.'),
  },
  {
    changes: {
      ...listOf(
        objectOf(
          {
            field: textOf('Name of the field; line for a new or removed line.'),
            from: textOf('Value before.'),
            to: textOf('Value after.'),
          },
          { line: textOf('LINE_NUMBER of the line.') },
        ),
      ),
      description: 'Up to 20 changed fields, cut to 100 characters; [] for a new record. Only with include=changes.',
    },
    record: {
      anyOf: [ref('Order'), ref('Customer'), ref('InventoryItem'), NULL],
      description: 'The current state of the record; null if it is missing. Only with include=records.',
    },
  },
);

/** Builds the operation that reads the change feed and can wait for a change. */
const changesOperation = (limits: AnswerLimits): Operation => ({
  name: 'listChanges',
  method: 'GET',
  path: '/changes',
  summary: 'Changes since a position',
  description:
    'Returns what was created and updated after a position, in the order in which it became visible. After you have read up to X-Next-After, no change ever appears at or below it. Without after, starts at the current position; X-Next-After says where to continue.',
  kind: 'changes',
  query: querySchema(
    {},
    {
      after: textOf('X-Next-After of the previous page. 0 starts with the first change (410 if that is gone).', {
        pattern: '^[0-9]{1,15}$',
      }),
      types: required(`Comma-separated types of records. Default ${CHANGED_TYPES.join(',')}.`, {
        pattern: `^${CHANGED_TYPE}(,${CHANGED_TYPE})*$`,
      }),
      maxReturn: maxReturnOf(limits),
      wait: textOf(`Seconds to wait for a change if there is none, 0 to ${WAIT_SECONDS_MAX}. Default 0.`, {
        pattern: '^([0-9]|1[0-9]|2[0-5])$',
      }),
      include: textOf('records adds the current state of each record, and changes the changed fields.', {
        enum: ['records', 'changes', 'records,changes'],
      }),
    },
  ),
  answer: envelopeOf(listOf(CHANGE)),
  example: { answer: envelope([CHANGE_EXAMPLE]) },
  run: async ({ changes: source, query, reply }: Call) => {
    const { after, types, maxReturn, wait = '0', include } = query;
    const asked = {
      after: after === undefined ? undefined : Number(after),
      types: (types?.split(',') ?? CHANGED_TYPES) as KeyedType[],
      limit: limitOf(maxReturn, limits),
    };
    const { request } = reply;
    const signal = signalOf(reply);
    const read = (ended: AbortSignal): Promise<ChangePage> => awaitChanges(source, asked, ended, signal);
    const found = await (wait === '0'
      ? read(AbortSignal.abort())
      : request.load.wait(request, Number(wait) * 1000, signal(), read));
    const render = include?.includes('changes') ? renderWithFields : renderChange;
    const rendered = include?.includes('records')
      ? await renderWithRecords(await source.open(), found.changes, render, limits.pageBytesMost, signal)
      : found.changes.map(render);
    const cut = found.changes[rendered.length];
    reply
      .header('x-next-after', String(cut ? Number(cut.seq) - 1 : found.next))
      .header('x-has-more', String(cut !== undefined || found.hasMore));
    return renderEnvelope(`[${rendered.join(',')}]`);
  },
});

function renderChange(change: Change): Json {
  const { changes: _, ...shown } = change;
  return JSON.stringify(shown);
}

function renderWithFields({ changes, ...change }: Change): Json {
  const fields = changes.map(([field, from, to, line]) => ({ field, from, to, line }));
  return JSON.stringify({ ...change, changes: fields });
}

/** Renders changes with their records, as far as a page has room for them. The first change always has its record. */
async function renderWithRecords(
  store: PimsStore,
  changes: readonly Change[],
  render: (change: Change) => Json,
  bytesMax: number,
  signal: () => AbortSignal,
): Promise<Json[]> {
  const rendered: Json[] = [];
  for (let bytes = 0; rendered.length < changes.length && !signal().aborted;) {
    const some = changes.slice(rendered.length, rendered.length + RECORDS_AT_ONCE);
    const found = await Promise.all(some.map(({ type, key }) => store.getRecord(type, key)));
    for (const [index, change] of some.entries()) {
      const json = `${render(change).slice(0, -1)},"record":${found[index]?.record ?? 'null'}}`;
      bytes += Buffer.byteLength(json);
      if (bytes > bytesMax && rendered.length > 0) return rendered;
      rendered.push(json);
    }
  }
  return rendered;
}

export function allOperations(limits: AnswerLimits): Operation[] {
  const ofRecords = [...orderOperations(limits), ...customerOperations(limits), ...inventoryOperations(limits)];
  return [...ofRecords, batchOperation(ofRecords), changesOperation(limits), ...TEAM_OPERATIONS];
}
