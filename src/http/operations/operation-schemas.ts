/**
 * The JSON Schemas of requests and responses: those with which Fastify validates requests, and those that the contract
 * names. The rules of values are in pims/.
 */
import { ERRORS } from '../../errors.ts';
import { ADDRESS_FIELDS, BUILT_IN_FIELDS, type Field, type RecordType } from '../../pims/rules/fields.ts';
import { FILTER_OPS } from '../../pims/reads/query.ts';
import {
  FIELDS_MAX,
  FILTER_LIST_MAX,
  FILTER_VALUE_CHARACTERS_MAX,
  FILTERS_MAX,
  NUMBERS_MAX,
  VALUE_CHARACTERS_MAX,
} from '../../pims/rules/record-bounds.ts';
import { FIRST_STAGES, STAGES } from '../../pims/rules/stages.ts';
import { SHIPPING_ADDRESS } from '../../pims/reads/storefront.ts';
import type { AnswerLimits } from './cursor.ts';
import {
  booleanOf,
  listOf,
  mapValues,
  matching,
  NULL,
  objectOf,
  required,
  textOf,
  type Members,
  type Schema,
} from '../../json-schema.ts';

export const ref = (name: string, description?: string): Schema => ({
  $ref: `#/components/schemas/${name}`,
  ...(description !== undefined && { description }),
});

const CREDENTIALS = {
  teamID: required('Tenant identifier.'),
  apiID: textOf(),
  apiSecret: textOf(),
};

/** Describes the query of an operation: credentials and its own parameters. */
export const querySchema = (needed: Members = {}, optional: Members = {}): Schema => ({
  ...objectOf({}, { ...CREDENTIALS, ...needed, ...optional }),
  required: Object.keys(needed),
});

/** The parameter that selects fields of a record. */
export const FIELDS = {
  fields: textOf('Comma-separated field names. Only these fields are returned, in this order.', {
    pattern: '^[^,]+(,[^,]+)*$',
  }),
};

export function maxReturnOf({ maxReturnDefault, returnMax }: AnswerLimits): Schema {
  const fallback = Math.min(maxReturnDefault, returnMax);
  const most = `maximum ${returnMax}; larger values are treated as ${returnMax}`;
  return textOf(`Records per page. Default ${fallback}, ${most}.`, { pattern: '^0*[1-9][0-9]*$' });
}

/** Describes the parameter with the position after which a list begins. */
export const afterOf = (description: string): Schema => textOf(description, { pattern: '^[0-9]{1,15}$' });

export const pageQuery = (limits: AnswerLimits, more: Members = {}): Schema =>
  querySchema(
    {},
    {
      maxReturn: maxReturnOf(limits),
      cursor: required('X-Next-Cursor from the previous page. Send it with the same filters and sort.'),
      sort: required(
        "An indexed field. Prefix with - for descending order. Ties are sorted by the record's key, in the same direction.",
      ),
      ...FIELDS,
      count: textOf('Set to exact to get the number of matching records in X-Total-Count.', { enum: ['exact'] }),
      ...more,
    },
  );

export const IDEMPOTENCY_KEY: Schema = matching('^[!-~]{1,255}$');

/** A request body: the schema with which Fastify validates it, and its schema in the contract, which has this name. */
export interface BodySchema {
  readonly name: string;
  /** Names of the built-in fields that `documented` adds to the body it extends. */
  readonly fields?: readonly string[];
  readonly validated: Schema;
  readonly documented: Schema;
  /** Further schemas of the contract, which `documented` refers to. */
  readonly parts?: Readonly<Record<string, Schema>>;
}

const isAddress = ({ name }: Field) => ADDRESS_FIELDS.includes(name);
const namesOf = (fields: readonly Field[]) => fields.map(({ name }) => name);
const ADDRESSES = BUILT_IN_FIELDS.orders.filter(isAddress);

/** Describes an object with these fields and custom ones. */
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

/** Describes the fields in their order. Address fields are adjacent and have a separate schema. */
function inOrder(fields: readonly Field[], addresses: string, describe: (some: readonly Field[]) => Schema): Schema {
  const at = fields.findIndex(isAddress);
  if (at < 0) return describe(fields);
  const after = fields.slice(at).filter((field) => !isAddress(field));
  return { allOf: [describe(fields.slice(0, at)), ref(addresses), ...(after.length > 0 ? [describe(after)] : [])] };
}

const FORMS = { text: '', number: 'Decimal', date: 'CalendarDate', flag: 'Flag', timestamp: 'Timestamp' };

/** PIMS parses each value by its field and says what is wrong with it. Fastify only checks that it is a scalar. */
const SCALAR: Schema = { type: ['string', 'number', 'boolean', 'null'], maxLength: VALUE_CHARACTERS_MAX };
/** Returns the schema of a field in a request. */
const valueOf = ({ name, type, description }: Field): Schema =>
  ref(name === 'ORDER_TYPE' ? 'FirstStage' : `${FORMS[type]}Value`, description);

/**
 * Describes a custom field in a request. It has no type, because generated types of optional fields beside it would not
 * compile: an optional field can be undefined, and a custom one could not.
 */
const CUSTOM_VALUE = { description: 'A custom field: a string, a number, a boolean or null.' };

/**
 * Builds a body with the fields that PIMS does not set, and the fields that identify the record (`needed`). The
 * contract leaves out the fields that the operation refuses, and refers to the body that this one extends (`base`).
 */
export function fieldsBody(
  name: string,
  recordType: RecordType,
  description: string,
  { needed = [], refused = [], base }: { needed?: string[]; refused?: string[]; base?: BodySchema } = {},
): BodySchema {
  const fields = BUILT_IN_FIELDS[recordType].filter((field) => !field.assigned || needed.includes(field.name));
  const elsewhere = [...refused, ...(base?.fields ?? [])];
  const own = fields.filter((field) => needed.includes(field.name) || !elsewhere.includes(field.name));
  const describeFields = (some: readonly Field[]): Schema =>
    fieldsOf(
      some,
      valueOf,
      CUSTOM_VALUE,
      needed.filter((one) => namesOf(some).includes(one)),
    );
  return {
    name,
    fields: namesOf(own),
    validated: { ...fieldsOf(fields, () => SCALAR, SCALAR, needed), maxProperties: FIELDS_MAX },
    documented: {
      description: `${description} Credentials may also be sent in the body.`,
      ...(base ? { allOf: [describeFields(own), ref(base.name)] } : inOrder(own, 'AddressValues', describeFields)),
    },
  };
}

/** Describes a body with these members. PIMS refuses other members and wrong values, with its own messages. */
export const membersBody = (
  name: string,
  description: string,
  needed: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): BodySchema => ({
  name,
  fields: Object.keys({ ...needed, ...optional }),
  validated: {
    type: 'object',
    properties: mapValues({ ...needed, ...optional }, ({ type, maxLength = VALUE_CHARACTERS_MAX }) =>
      type === 'array' ? {} : { ...SCALAR, maxLength },
    ),
    required: Object.keys(needed),
    additionalProperties: SCALAR,
    maxProperties: FIELDS_MAX,
  },
  documented: {
    ...objectOf(needed, optional),
    additionalProperties: { description: 'teamID, apiID or apiSecret.' },
    description: `${description} Credentials may also be sent in the body.`,
  },
});

const FILTER_VALUE = ['string', 'number', 'boolean'];
const filterOf = (conjunction: Schema): Schema =>
  objectOf(
    {
      field: textOf('Name of a field of the queried records.'),
    },
    {
      value: {
        type: [...FILTER_VALUE, 'array'],
        items: { type: FILTER_VALUE },
        description: `The value, at most ${FILTER_VALUE_CHARACTERS_MAX} characters. The op \`in\` needs a list of 1 to ${FILTER_LIST_MAX} values. The ops \`empty\` and \`not_empty\` accept no value.`,
      },
      op: textOf('How to compare the field with the value. Default eq.', { enum: FILTER_OPS }),
      contains: booleanOf('true is the same as the op `contains`, which ignores case. Default false.'),
      conjunction: textOf('Joins the filter to the previous one. AND binds tighter than OR. Default AND.', conjunction),
    },
  );
export const FILTERS_BODY: BodySchema = {
  name: 'Filters',
  // AND and OR are valid in any case.
  validated: listOf(filterOf({ pattern: '^([Aa][Nn][Dd]|[Oo][Rr])$' }), { maxItems: FILTERS_MAX }),
  documented: listOf(ref('Filter'), { maxItems: FILTERS_MAX, description: 'Filters. [] selects all records.' }),
};

export const NUMBERS_BODY: BodySchema = {
  name: 'StorefrontNumbers',
  // PIMS validates the numbers and says what is wrong.
  validated: {},
  documented: listOf(
    { type: ['string', 'number'], minLength: 1, maxLength: VALUE_CHARACTERS_MAX },
    {
      minItems: 1,
      maxItems: NUMBERS_MAX,
      description: 'Storefront order numbers, each exactly as in REFERENCE_NUMBER.',
    },
  ),
};

/** Returns the schema of a field in a response. */
function answerOf({ name, type, description }: Field): Schema {
  const form = name === 'ORDER_TYPE' ? 'Stage' : FORMS[type];
  return form === '' ? textOf(description) : ref(form, description);
}

/** Describes a record in a response: every field has a value, which can be `""`. */
function recordOf(recordType: RecordType): Schema {
  const describeRecordFields = (some: readonly Field[]): Schema => fieldsOf(some, answerOf, textOf(), namesOf(some));
  const description = 'Every field of the record, including custom fields; "" if a field has no value.';
  return { description, ...inOrder(BUILT_IN_FIELDS[recordType], 'Addresses', describeRecordFields) };
}

const OPERATION_ERRORS = Object.entries(ERRORS).flatMap(([code, { place }]) =>
  ['path', 'dashboard', 'command'].includes(place) ? [] : [code],
);
const nullable = (description: string): Schema => ({ type: ['string', 'null'], description });
const SHIPPING = mapValues(SHIPPING_ADDRESS, (field) => textOf(`${field} of the order.`));

const LOOKUP_ORDER =
  'The orders, sorted by stage (invoices, sales orders, quotes, worksheets) and then by age, newest first.';

/** The schemas that the contract names, in addition to those of the bodies. */
export const SCHEMAS = {
  Order: recordOf('orders'),
  OrderLine: recordOf('lines'),
  Customer: recordOf('customers'),
  InventoryItem: recordOf('inventory'),
  Addresses: fieldsOf(ADDRESSES, answerOf, textOf(), namesOf(ADDRESSES)),
  Stage: textOf('Stage of an order.', { enum: STAGES }),
  Decimal: textOf('Decimal number without trailing zeros, or "".'),
  CalendarDate: textOf('Date as mm/dd/yyyy, or "".'),
  Flag: textOf('Y, N, or "".', { enum: ['Y', 'N', ''] }),
  Timestamp: textOf('UTC time in ISO 8601, or "".'),

  AddressValues: fieldsOf(ADDRESSES, valueOf, CUSTOM_VALUE),
  Value: {
    ...SCALAR,
    description: 'Value of a field. Numbers and booleans are stored as text; null and "" clear the field.',
  },
  FirstStage: {
    enum: [...FIRST_STAGES, '', null],
    description: 'Stage of a new order. null and "" select the default stage of the tenant.',
  },
  DecimalValue: { type: ['string', 'number', 'null'], description: 'Decimal number; null and "" clear the field.' },
  CalendarDateValue: nullable('Date as m/d/yyyy or yyyy-mm-dd; null and "" clear the field.'),
  FlagValue: {
    description: 'Y, N, true, false, 1 or 0, ignoring case; null and "" clear the field.',
    anyOf: [
      { enum: ['Y', 'N', '', true, false, 1, 0, null] },
      matching('^([YyNn10]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$'),
    ],
  },
  Filter: filterOf({ enum: ['AND', 'OR'] }),

  StorefrontLookup: objectOf({
    storefront_order_number: textOf('The number in the request.'),
    orders: listOf(ref('StorefrontOrder'), { description: LOOKUP_ORDER }),
  }),
  StorefrontOrder: objectOf(
    {
      order_type: ref('Stage'),
      pims_order_number: nullable('ORDER_NUMBER of the order.'),
      create_date: nullable('Time of creation (UTC, ISO 8601), or null if unknown.'),
      modified_date: nullable('Time of the last change (UTC, ISO 8601), or null if unknown.'),
      tracking_numbers: listOf(textOf(), { description: 'Tracking numbers of the order.' }),
      is_dropship: booleanOf('Whether the supplier ships the order.'),
      shipping_address: objectOf(SHIPPING),
      items: listOf(ref('StorefrontItem'), { description: 'The lines of the order.' }),
    },
    {
      cancelled: { const: true, description: 'Present only if the order is cancelled or void.' },
      return_of: textOf('Present only on a return: ORDER_NUMBER of its invoice.'),
    },
  ),
  StorefrontItem: objectOf({
    part_number: textOf('PART_CODE of the line.'),
    description: textOf('Description of the item.'),
    quantity: { type: 'number', description: 'Units ordered.' },
    shipped: { type: 'number', description: 'Units shipped. Less than quantity after a partial shipment.' },
    serial_numbers: listOf(textOf(), { description: 'Serial numbers shipped; always empty for a care plan.' }),
    is_care_plan: booleanOf('Whether the line is a care plan.'),
  }),

  Success: { const: 'success' },
  ServiceState: objectOf(
    {
      status: { type: 'string', enum: ['ok', 'unavailable'] },
    },
    {
      reason: textOf('`disk`: the disk is nearly full or read-only. `counting`: calls cannot be counted.', {
        enum: ['disk', 'counting'],
      }),
    },
  ),
  ErrorCode: textOf('Every code is described at /docs/errors.', { enum: OPERATION_ERRORS }),
  ApiError: {
    ...objectOf({
      status: { const: 'error' },
      data: NULL,
      subRecords: NULL,
      message: textOf(
        'What is wrong, in a sentence that can change: branch on `code`. If PIMS refused the request, this is its message.',
      ),
      code: ref('ErrorCode', 'Stable error code. Branch on it.'),
      remedy: textOf('What to do next.'),
      docs: textOf('Path of the page that explains the code.'),
      field: textOf('The parameter or field that is wrong.'),
      suggestion: textOf(
        'The known name nearest to an unknown one, or the number of the order that a line moved to, or that has to be voided first.',
      ),
      step: { type: 'integer', description: 'Index of the rejected step of a batch, from 0.' },
      earliest: textOf('The lowest value of after that the change feed accepts.'),
      requestId: textOf('Value of X-Request-Id. Quote it when you report a problem.'),
    }),
    // The other members are optional, although some come before requestId.
    required: ['status', 'data', 'subRecords', 'message', 'code', 'remedy', 'docs', 'requestId'],
  },
};

export const envelopeOf = (data: Schema, subRecords: Schema = NULL): Schema =>
  objectOf({ status: ref('Success'), data, subRecords });
