/** The responses of the operations: their schemas, which the contract names or not, and their examples. */
import { booleanOf, listOf, NULL, objectOf, textOf, type Schema } from '../../src/json-schema.ts';
import type { OperationName } from '../../src/http/operations/names.ts';
import { ref } from '../../src/http/operations/operation-schemas.ts';
import type { Operation } from '../../src/http/operations/operation.ts';
import { CHANGED_TYPES } from '../../src/pims/changes.ts';
import { MOVEMENT_KINDS } from '../../src/pims/writes/script.ts';
import { EVENTS } from '../../src/webhooks/webhooks.ts';
import { documentBody } from './schemas.ts';

/** The members that a change has in the feed and in the message of a webhook. */
const CHANGED = {
  seq: textOf('Position of the change in the feed, as text. Positions increase, with gaps; compare them as integers.', {
    pattern: '^[0-9]+$',
  }),
  type: textOf('Type of the record. A change to a line counts as a change to its order.', { enum: CHANGED_TYPES }),
  key: textOf('Key of the record: ORDER_NUMBER, CUSTOMER_CODE or PART_CODE.'),
  change: textOf('Whether the write created or updated the record.', { enum: ['created', 'updated'] }),
  operation: textOf('First operation or command of the call that wrote it, such as addLineItem or import.'),
  by: textOf('Name of the pair of keys, email address, command line or import; "" if it is not known.'),
};
const Change = objectOf(
  {
    ...CHANGED,
    at: textOf('Time of the write in UTC, in ISO 8601.'),
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

/** The message of a webhook, which src/webhooks/poster.ts makes. */
const WebhookEvent = objectOf({
  type: textOf('What happened to the record, or `test`.', { enum: [...EVENTS, 'test'] }),
  timestamp: textOf('Time of the change or test in UTC, in ISO 8601.'),
  data: { anyOf: [objectOf(CHANGED), objectOf({})], description: 'The change; empty in a test.' },
});

const Movement = objectOf({
  NUMBER: textOf('Number of the movement, counted from 1 for each part.'),
  AT: textOf('Time of the movement (UTC, ISO 8601).'),
  KIND: textOf('Kind of the movement.', { enum: MOVEMENT_KINDS }),
  QUANTITY: ref('Decimal', 'Units added, or removed if negative.'),
  AFTER: ref('Decimal', 'QTY_ONHAND after the movement.'),
  ORDER_NUMBER: textOf('The order that moved the units, or "".'),
  DONE_BY: textOf('Name of the pair of keys, email address, command line or import; "" if it is not known.'),
  REASON: textOf('The REASON that was sent, or "".'),
  SERIAL_NUMBERS: textOf('Serial numbers that entered or left stock, separated by commas.'),
});

const AdvancedOrder = objectOf({
  ORDER_NUMBER: textOf('The order.'),
  ORDER_TYPE: ref('Stage', 'Its stage now.'),
  ORDER_STATUS: textOf('Its ORDER_STATUS now.'),
  BACKORDER_NUMBER: textOf('The sales order with the units that a partial invoice leaves open, or "".'),
});

const LISTED_FIELD = objectOf({
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

/** The schemas that the contract names behind those of other operations. */
const RESULTS: Readonly<Partial<Record<OperationName, Readonly<Record<string, Schema>>>>> = {
  approveOrder: { AdvancedOrder },
  listMovements: { Movement },
  listChanges: { Change, WebhookEvent },
};

/** Returns the schemas that an operation adds to the contract. */
export const schemasOf = ({ name, body }: Operation, steps: readonly Operation[]): Record<string, Schema> => ({
  ...RESULTS[name],
  ...(body && { [body.name]: documentBody(body) }),
  ...(name === 'batch' && describeSteps(steps)),
});

/** Describes a step for each operation, such as `CreateOrderStep`, and `BatchStep`, which is one of them. */
function describeSteps(taken: readonly Operation[]): Record<string, Schema> {
  const steps = taken.map(({ name, body }): [string, Schema] => [
    `${name[0]!.toUpperCase()}${name.slice(1)}Step`,
    objectOf({
      operation: { type: 'string', const: name, description: 'Name of the operation.' },
      body: ref(body!.name, 'Body of the operation.'),
    }),
  ]);
  const oneOf = steps.map(([step]) => ref(step));
  const mapping = Object.fromEntries(taken.map(({ name }, index) => [name, oneOf[index]!['$ref']]));
  return { BatchStep: { oneOf, discriminator: { propertyName: 'operation', mapping } }, ...Object.fromEntries(steps) };
}

/** The schemas of data that is not a record and has no name in the contract. */
const DATA: Readonly<Partial<Record<OperationName, Schema>>> = { listFields: listOf(LISTED_FIELD), getUsage: USAGE };

/** Returns the schema of the response of an operation. A batch has the responses of its steps. */
export function responseOf(
  { name, answer = DATA[name], subRecords = NULL, isBare }: Operation,
  steps: readonly Operation[],
): Schema {
  if (isBare) return answer!;
  const results = new Map(steps.map((step) => [JSON.stringify(step.answer), step]));
  const data = answer ?? listOf({ anyOf: [...results.values()].map((step) => responseOf(step, [])) });
  return objectOf({ status: ref('Success'), data, subRecords });
}

const wrap = (data: unknown, subRecords: unknown = null) => ({ status: 'success', data, subRecords });

/** Returns the example of the response of an operation. */
export function exampleOf({ kind, example: { answer, subRecords }, isBare }: Operation): unknown {
  if (isBare) return answer;
  return kind === 'batch' ? wrap((answer as unknown[]).map((data) => wrap(data))) : wrap(answer, subRecords);
}
