/** The two operations on a team's field dictionary and usage. */
import { quotaOf } from '../../tenant/tenant.ts';
import { buildDictionaries, RECORD_TYPES, viewField, type RecordType } from '../../pims/rules/fields.ts';
import { listFields } from '../../pims/operations.ts';
import { renderEnvelope } from '../call/answer.ts';
import { booleanOf, listOf, NULL, objectOf, required, textOf } from '../contract/json-schema.ts';
import { envelopeOf, queryOf } from './operation-schemas.ts';
import { envelope, type Call, type Operation } from './operation.ts';

const FIELD = objectOf({
  name: textOf('Name of the field, in upper case.'),
  type: textOf('Type of its values.', { enum: ['text', 'number', 'date', 'flag', 'timestamp'] }),
  description: textOf('Meaning of the field.'),
  required: booleanOf('Whether the field is required on a new record.'),
  assigned: booleanOf('Whether PIMS sets the field. Do not send it.'),
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

export const TEAM_OPERATIONS: readonly Operation[] = [
  {
    name: 'listFields',
    method: 'GET',
    path: '/fields',
    summary: 'Fields of a record type',
    description: 'Returns the fields of the record type in the order of its records, custom fields last.',
    kind: 'lookup',
    query: queryOf({
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
    query: queryOf(
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
      // Once this call is counted.
      await request.counted?.monthRequests();
      const { total, byDay: days } = await usage.loadUsage(teamId, month);
      return renderEnvelope(JSON.stringify({ month, total, quota, days }));
    },
  },
];
