/** The schemas that the contract names: of records and their values, and of bodies, made from what operations declare. */
import { ERRORS } from '../../src/errors.ts';
import { booleanOf, listOf, mapValues, matching, NULL, objectOf, textOf, type Schema } from '../../src/json-schema.ts';
import {
  filterOf,
  ref,
  SCALAR,
  type BodySchema,
  type DocumentedFields,
  type DocumentedMembers,
} from '../../src/http/operations/operation-schemas.ts';
import { SHIPPING_ADDRESS } from '../../src/pims/reads/storefront.ts';
import { ADDRESS_FIELDS, BUILT_IN_FIELDS, type Field, type RecordType } from '../../src/pims/rules/fields.ts';
import { FIRST_STAGES, STAGES } from '../../src/pims/rules/stages.ts';

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

/** Returns the schema of a field in a request. */
const valueOf = ({ name, type, description }: Field): Schema =>
  ref(name === 'ORDER_TYPE' ? 'FirstStage' : `${FORMS[type]}Value`, description);

/**
 * Describes a custom field in a request. It has no type, because generated types of optional fields beside it would not
 * compile: an optional field can be undefined, and a custom one could not.
 */
const CUSTOM_VALUE = { description: 'A custom field: a string, a number, a boolean or null.' };

/** Returns the schema of a body. */
export const documentBody = ({ documented, fields, members }: BodySchema): Schema =>
  documented ?? (fields ? documentFields(fields) : documentMembers(members!));

const describeBody = (about: string) => `${about} Credentials may also be sent in the body.`;
const documentMembers = ({ about, needed, optional }: DocumentedMembers): Schema => ({
  ...objectOf(needed, optional),
  additionalProperties: { description: 'teamID, apiID or apiSecret.' },
  description: describeBody(about),
});

/** Returns the fields of a body that its operation does not refuse, and that the body it extends does not have. */
function ownFields({ fields, needed, refused, base }: DocumentedFields): readonly Field[] {
  const elsewhere = [...refused, ...(base ? namesOf(ownFields(base.fields!)) : [])];
  return fields.filter(({ name }) => needed.includes(name) || !elsewhere.includes(name));
}

function documentFields(documented: DocumentedFields): Schema {
  const { about, needed, base } = documented;
  const own = ownFields(documented);
  const describeFields = (some: readonly Field[]): Schema =>
    fieldsOf(
      some,
      valueOf,
      CUSTOM_VALUE,
      needed.filter((one) => namesOf(some).includes(one)),
    );
  return {
    description: describeBody(about),
    ...(base ? { allOf: [describeFields(own), ref(base.name)] } : inOrder(own, 'AddressValues', describeFields)),
  };
}

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
