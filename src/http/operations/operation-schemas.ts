/**
 * What the operations take and answer, as JSON Schemas: those Fastify validates requests with, and those the
 * contract names. The rules behind the values are in pims/.
 */
import { ERRORS } from '../../errors.ts';
import { ADDRESS_FIELDS, BUILT_IN_FIELDS, type Field, type RecordType } from '../../pims/fields.ts';
import { FILTER_OPS } from '../../pims/filter.ts';
import {
  FIELDS_MAX,
  FILTER_LIST_MAX,
  FILTER_VALUE_CHARACTERS_MAX,
  FILTERS_MAX,
  NUMBERS_MAX,
  VALUE_CHARACTERS_MAX,
} from '../../pims/limits.ts';
import { FIRST_STAGES, STAGES } from '../../pims/stages.ts';
import { SHIPPING_ADDRESS } from '../../pims/storefront.ts';
import type { AnswerLimits } from '../cursor.ts';
import { booleanOf, listOf, mapValues, NULL, objectOf, required, textOf, type Schema } from '../schemas.ts';

/** A schema of the contract by its name. */
export const ref = (name: string, description?: string): Schema => ({
  $ref: `#/components/schemas/${name}`,
  ...(description !== undefined && { description }),
});

const CREDENTIALS = {
  teamID: required('Tenant identifier. In writes it may be a member of the body instead.'),
  apiID: textOf(),
  apiSecret: textOf(),
};

/** The query of an operation: credentials and its own parameters, required unless optional. */
export const queryOf = (parameters: Record<string, Schema> = {}, optional: readonly string[] = []): Schema =>
  objectOf({ ...CREDENTIALS, ...parameters }, [...Object.keys(CREDENTIALS), ...optional]);

/** Only these fields of a record. */
export const FIELDS = {
  fields: textOf('Names of fields with commas between: only these are answered, in this order.', {
    pattern: '^[^,]+(,[^,]+)*$',
  }),
};

export function pageQuery({ maxReturnDefault, maxReturnMost }: AnswerLimits, more: Record<string, Schema>): Schema {
  const fallback = Math.min(maxReturnDefault, maxReturnMost);
  const about = `Records of a page, ${fallback} by default. More than ${maxReturnMost} counts as ${maxReturnMost}.`;
  const page = {
    maxReturn: textOf(about, { pattern: '^0*[1-9][0-9]*$' }),
    cursor: required('X-Next-Cursor of the page before, whose filters and sort it belongs to.'),
    sort: required(
      'An indexed field, ascending, or with - before it descending. The key decides between records with the same value, in the same direction.',
    ),
    ...FIELDS,
    count: textOf('exact: X-Total-Count says how many records match.', { enum: ['exact'] }),
    ...more,
  };
  return queryOf(page, Object.keys(page));
}

export const IDEMPOTENCY_KEY: Schema = textOf(undefined, { pattern: '^[!-~]{1,255}$' });

/** A request body: the schema Fastify validates it with, and the one of this name in the contract. */
export interface BodySchema {
  readonly name: string;
  /** Names of the built-in fields it takes, if it takes fields. */
  readonly fields?: readonly string[];
  readonly validated: Schema;
  readonly documented: Schema;
}

const isAddress = ({ name }: Field): boolean => ADDRESS_FIELDS.includes(name);
const namesOf = (fields: readonly Field[]): string[] => fields.map(({ name }) => name);
const ADDRESSES = BUILT_IN_FIELDS.orders.filter(isAddress);

/** An object with these fields and custom ones. */
const fieldsOf = (
  fields: readonly Field[],
  schemaOf: (field: Field) => Schema,
  custom: Schema,
  needed: readonly string[] = [],
): Schema => ({
  type: 'object',
  properties: Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)])),
  required: needed,
  additionalProperties: custom,
});

const FORMS = { text: '', number: 'Decimal', date: 'Date', flag: 'Flag', timestamp: 'Timestamp' };

/** PIMS parses each value by its field and refuses it in its own words. Fastify only checks that it is a scalar. */
const SCALAR: Schema = { type: ['string', 'number', 'boolean', 'null'], maxLength: VALUE_CHARACTERS_MAX };
/** The schema of a field as it is sent. */
const valueOf = ({ name, type, description }: Field): Schema =>
  ref(name === 'ORDER_TYPE' ? 'FirstStage' : `${FORMS[type]}Value`, description);

/**
 * A body of fields: those PIMS does not set, and those that name the record (`needed`). The contract leaves out fields
 * the operation refuses, and refers to the body it extends (`base`) or to the fields of addresses.
 */
export function fieldsBody(
  name: string,
  recordType: RecordType,
  description: string,
  { needed = [], refused = [], base }: { needed?: string[]; refused?: string[]; base?: BodySchema } = {},
): BodySchema {
  const fields = BUILT_IN_FIELDS[recordType].filter((field) => !field.assigned || needed.includes(field.name));
  const elsewhere = [...ADDRESS_FIELDS, ...refused, ...(base?.fields ?? [])];
  const own = fields.filter((field) => needed.includes(field.name) || !elsewhere.includes(field.name));
  const documented = fieldsOf(own, valueOf, ref('Value'), needed);
  const shared = base?.name ?? (fields.some(isAddress) ? 'AddressValues' : undefined);
  return {
    name,
    fields: namesOf(own),
    validated: { ...fieldsOf(fields, () => SCALAR, SCALAR, needed), maxProperties: FIELDS_MAX },
    documented: {
      description: `${description} Credentials may be members too.`,
      ...(shared === undefined ? documented : { allOf: [ref(shared), documented] }),
    },
  };
}

/** A body that only names a record. Other members are refused in the words of PIMS. */
export const keyBody = (name: string, key: string, description: string): BodySchema => ({
  name,
  fields: [key],
  validated: { ...objectOf({ [key]: SCALAR }), additionalProperties: SCALAR, maxProperties: FIELDS_MAX },
  documented: {
    ...objectOf({ [key]: ref('Value', description) }),
    additionalProperties: textOf('teamID, apiID or apiSecret.'),
    description: `${description} Credentials may be members too.`,
  },
});

const FILTER_VALUE = ['string', 'number', 'boolean'];
const FILTER = objectOf(
  {
    field: textOf('Name of a field of the queried records.'),
    value: {
      type: [...FILTER_VALUE, 'array'],
      items: { type: FILTER_VALUE },
      description: `At most ${FILTER_VALUE_CHARACTERS_MAX} characters. in takes a list of 1 to ${FILTER_LIST_MAX}; empty and not_empty take none.`,
    },
    op: textOf('How the field is compared with the value. Default eq.', { enum: FILTER_OPS }),
    contains: booleanOf('true: the same as the op contains, part of the value in any case. Default false.'),
    conjunction: textOf('AND or OR with the filter before, in any case. AND binds tighter. Default AND.', {
      pattern: '^([Aa][Nn][Dd]|[Oo][Rr])$',
    }),
  },
  ['value', 'op', 'contains', 'conjunction'],
);
export const FILTERS_BODY: BodySchema = {
  name: 'Filters',
  validated: listOf(FILTER, { maxItems: FILTERS_MAX }),
  documented: listOf(ref('Filter'), { maxItems: FILTERS_MAX, description: 'Filters; [] asks for all records.' }),
};

export const NUMBERS_BODY: BodySchema = {
  name: 'StorefrontNumbers',
  // The rule of the lookup says in its own words what is wrong.
  validated: {},
  documented: listOf(
    { type: ['string', 'number'], minLength: 1, maxLength: VALUE_CHARACTERS_MAX },
    { minItems: 1, maxItems: NUMBERS_MAX, description: 'Storefront order numbers, each as PIMS has it.' },
  ),
};

/** The schema of a field as it is answered. */
function answerOf({ name, type, description }: Field): Schema {
  const form = name === 'ORDER_TYPE' ? 'Stage' : FORMS[type];
  return form === '' ? textOf(description) : ref(form, description);
}

/** A record as it is answered: every field has a value, `""` at least. */
function recordOf(recordType: RecordType): Schema {
  const fields = BUILT_IN_FIELDS[recordType];
  const own = fields.filter((field) => !isAddress(field));
  const record = fieldsOf(own, answerOf, textOf(), namesOf(own));
  const description = 'Every field of the tenant, custom fields included; "" where a field has no value.';
  return { description, ...(own.length < fields.length ? { allOf: [ref('Addresses'), record] } : record) };
}

const OPERATION_ERRORS = Object.entries(ERRORS).flatMap(([code, { place }]) =>
  ['path', 'dashboard', 'command'].includes(place) ? [] : [code],
);
const nullable = (description: string): Schema => ({ type: ['string', 'null'], description });
const SHIPPING = mapValues(SHIPPING_ADDRESS, (field) => textOf(`${field} of the order.`));

const LOOKUP_ORDER = 'Invoices first, then sales orders, quotes and worksheets; within a stage the newest first.';

/** The schemas the contract names, beside those of the bodies. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Order: recordOf('orders'),
  OrderLine: recordOf('lines'),
  Customer: recordOf('customers'),
  InventoryItem: recordOf('inventory'),
  SomeFields: {
    type: 'object',
    minProperties: 1,
    additionalProperties: textOf(),
    description: 'With `fields`: only the fields asked for, in that order.',
  },
  Addresses: fieldsOf(ADDRESSES, answerOf, textOf(), namesOf(ADDRESSES)),
  Stage: textOf('Stage of an order.', { enum: STAGES }),
  Decimal: textOf('Decimal number without needless zeros, or "".'),
  Date: textOf('Date as mm/dd/yyyy, or "".'),
  Flag: textOf('Y, N, or "".', { enum: ['Y', 'N', ''] }),
  Timestamp: textOf('UTC time in ISO 8601, or "".'),

  AddressValues: fieldsOf(ADDRESSES, valueOf, ref('Value')),
  Value: {
    ...SCALAR,
    description: 'Value of a field. Numbers and booleans are stored as text; null and "" clear the field.',
  },
  FirstStage: {
    enum: [...FIRST_STAGES, '', null],
    description: 'Stage of a new order; null and "" stand for the default of the tenant.',
  },
  DecimalValue: { type: ['string', 'number', 'null'], description: 'Decimal number; null and "" clear the field.' },
  DateValue: nullable('Date as m/d/yyyy or yyyy-mm-dd; null and "" clear the field.'),
  FlagValue: {
    description: 'Y, N, true, false, 1 or 0, in any case; null and "" clear the field.',
    anyOf: [
      { enum: ['Y', 'N', '', true, false, 1, 0, null] },
      textOf(undefined, { pattern: '^([YyNn10]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$' }),
    ],
  },
  Filter: FILTER,

  StorefrontLookup: objectOf({
    storefront_order_number: textOf('The number that was asked for.'),
    orders: listOf(ref('StorefrontOrder'), { description: LOOKUP_ORDER }),
  }),
  StorefrontOrder: objectOf(
    {
      order_type: ref('Stage'),
      pims_order_number: nullable('ORDER_NUMBER of the order.'),
      create_date: nullable('UTC time in ISO 8601; null when PIMS has none.'),
      modified_date: nullable('UTC time in ISO 8601; null when PIMS has none.'),
      tracking_numbers: listOf(textOf(), { description: 'Tracking numbers of the order.' }),
      is_dropship: booleanOf('Whether the supplier ships the order.'),
      shipping_address: objectOf(SHIPPING),
      items: listOf(ref('StorefrontItem'), { description: 'The lines of the order.' }),
      cancelled: { const: true, description: 'Only in an entry of a cancelled order.' },
    },
    ['cancelled'],
  ),
  StorefrontItem: objectOf({
    part_number: textOf('PART_CODE of the line.'),
    description: textOf('What was ordered.'),
    quantity: { type: 'number', description: 'Units ordered.' },
    shipped: { type: 'number', description: 'Units shipped; less than quantity after a partial shipment.' },
    serial_numbers: listOf(textOf(), { description: 'Serial numbers shipped; always empty for a care plan.' }),
    is_care_plan: booleanOf('Whether the line is a care plan.'),
  }),

  Success: { const: 'success' },
  ServiceState: objectOf(
    {
      status: { type: 'string', enum: ['ok', 'unavailable'] },
      reason: textOf('`disk`: it is nearly full. `counting`: calls cannot be counted.', { enum: ['disk', 'counting'] }),
    },
    ['reason'],
  ),
  ErrorCode: textOf('Codes of docs/errors.md.', { enum: OPERATION_ERRORS }),
  Error: objectOf(
    {
      status: { const: 'error' },
      data: NULL,
      subRecords: NULL,
      message: textOf('A plain sentence; for a refusal by PIMS, the words of PIMS.'),
      code: ref('ErrorCode', 'Stable; branch on it.'),
      field: textOf('The parameter or field that is wrong.'),
      suggestion: textOf(
        'The known name nearest to an unknown field, or the number of the order that has a moved line.',
      ),
      step: { type: 'integer', description: 'The step of a batch that was refused, from 0.' },
      remedy: textOf('What to do next.'),
      docs: textOf('Path of this service that explains the code.'),
      requestId: textOf('As in X-Request-Id; quote it in reports.'),
    },
    ['field', 'suggestion', 'step'],
  ),
};

/** A record, whole or with some of its fields. */
export const recordAnswer = (name: string): Schema => ({ anyOf: [ref(name), ref('SomeFields')] });

export const envelopeOf = (data: Schema, subRecords: Schema = NULL): Schema =>
  objectOf({ status: ref('Success'), data, subRecords });
