/**
 * Shapes of what goes in and out, written once as JSON Schema: the service validates requests with them and the contract is made from them.
 * Says nothing about meaning; that is pims/.
 */
import { ERRORS, type ErrorCode } from '../errors.ts';
import { FILTERS_MAX } from '../pims/limits.ts';
import { FIELDS_MAX, VALUE_CHARACTERS_MAX } from '../pims/limits.ts';
import { BUILT_IN_FIELDS, type RecordType } from '../pims/fields.ts';

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

export const NULL: Schema = { type: 'null' };
export const listOf = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });

/** A string; what is said of it beside its description goes in `more`. */
export const textOf = (description?: string, more: Schema = {}): Schema => ({
  type: 'string',
  ...(description !== undefined && { description }),
  ...more,
});

/** An object with these members and no others, all required but the optional ones. */
export const objectOf = (members: Record<string, Schema>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

const CREDENTIALS = {
  teamID: textOf('Tenant identifier. Required; on body-carrying requests it may be in an object body instead.', {
    minLength: 1,
  }),
  apiID: textOf('API ID, unless Basic credentials are sent.'),
  apiSecret: textOf('API Secret, unless Basic credentials are sent. Prefer Basic: URLs end up in logs.'),
};

/** The query of an operation: its own parameters, required unless optional, and the ways of saying who calls. */
export const queryOf = (parameters: Record<string, Schema> = {}, optional: readonly string[] = []): Schema =>
  objectOf({ ...CREDENTIALS, ...parameters }, [...Object.keys(CREDENTIALS), ...optional]);

export const required = (description: string): Schema => textOf(description, { minLength: 1 });

const PAGE = {
  maxReturn: textOf(
    'Maximum number of records: a positive whole number, 500 when not sent; more than 5000 is served as 5000.',
    { pattern: '^0*[1-9][0-9]*$' },
  ),
  cursor: textOf('X-Next-Cursor of the answer before: goes on where it ended.', { minLength: 1 }),
};
export const pageQuery = queryOf(PAGE, Object.keys(PAGE));

const FIELD_FORMS = {
  text: 'Text.',
  number: 'Decimal number.',
  date: 'Date, m/d/yyyy or yyyy-mm-dd; answered mm/dd/yyyy.',
  flag: 'Y or N.',
  timestamp: 'UTC, ISO 8601.',
};

const rawValue: Schema = { type: ['string', 'number', 'boolean', 'null'], maxLength: VALUE_CHARACTERS_MAX };

/** Any field of the tenant's dictionary; those built in are named so that they show up in the contract. */
export function fieldsBody(recordType: RecordType, description: string, needed: readonly string[] = []): Schema {
  const settable = BUILT_IN_FIELDS[recordType].filter(({ name, assigned }) => !assigned || needed.includes(name));
  const properties = Object.fromEntries(
    settable.map(({ name, type }) => [name, { ...rawValue, description: FIELD_FORMS[type] }]),
  );
  return {
    type: 'object',
    description,
    properties,
    required: needed,
    additionalProperties: rawValue,
    maxProperties: FIELDS_MAX,
  };
}

const filter = objectOf(
  {
    field: textOf('Field name of the queried record type.'),
    value: { type: ['string', 'number', 'boolean'], description: 'Value to match, at most 256 characters.' },
    contains: {
      type: 'boolean',
      description: 'true: substring, whatever the case; false (default): exactly this value.',
    },
    conjunction: textOf(
      'AND or OR: how this filter combines with the one before. AND binds tighter; AND when left out.',
      {
        pattern: '^([Aa][Nn][Dd]|[Oo][Rr])$',
      },
    ),
  },
  ['contains', 'conjunction'],
);
export const filtersBody = listOf(filter, { maxItems: FILTERS_MAX, description: 'Filters; [] asks for all records.' });

/** A record as it is answered: every value a string. */
export function recordAnswer(recordType: RecordType): Schema {
  return {
    type: 'object',
    description: 'Fields of the tenant, custom ones included; "" where there is no value.',
    properties: Object.fromEntries(
      BUILT_IN_FIELDS[recordType].map(({ name, type }) => [name, textOf(FIELD_FORMS[type])]),
    ),
    required: BUILT_IN_FIELDS[recordType].map(({ name }) => name),
    additionalProperties: { type: 'string' },
  };
}

export const envelopeOf = (data: Schema, subRecords: Schema = NULL): Schema =>
  objectOf({ status: { const: 'success' }, data, subRecords });

/** The error body for these codes. */
export const errorAnswer = (codes: readonly ErrorCode[]): Schema =>
  objectOf(
    {
      status: { const: 'error' },
      data: NULL,
      subRecords: NULL,
      message: textOf('A plain sentence; for a PIMS refusal the words of PIMS.'),
      code: textOf('Stable; branch on this.', { enum: codes }),
      field: textOf('The parameter or field that is wrong.'),
      suggestion: textOf('The known name nearest to an unknown field.'),
      requestId: textOf('As in X-Request-Id; quote it when reporting.'),
    },
    ['field', 'suggestion'],
  );

const timestamp: Schema = { type: ['string', 'null'], description: 'ISO 8601; null when PIMS has none.' };
const ADDRESS_KEYS = ['name', 'attention', 'address_1', 'address_2', 'city', 'state', 'zip', 'country', 'phone'];

const storefrontItem = objectOf({
  part_number: textOf(),
  description: textOf(),
  quantity: { type: 'number', description: 'Quantity ordered on the line.' },
  shipped: { type: 'number', description: 'Quantity shipped; lower than quantity means a partial shipment.' },
  serial_numbers: listOf(textOf(), { description: 'Always empty for care-plan items.' }),
  is_care_plan: { type: 'boolean' },
});

export const storefrontAnswer = objectOf({
  storefront_order_number: textOf(),
  orders: listOf(
    objectOf({
      order_type: textOf('Lifecycle stage.', { enum: ['invoice', 'sales_order', 'quote', 'worksheet'] }),
      pims_order_number: { type: ['string', 'null'] },
      create_date: timestamp,
      modified_date: timestamp,
      tracking_numbers: listOf(textOf()),
      is_dropship: { type: 'boolean' },
      shipping_address: objectOf(Object.fromEntries(ADDRESS_KEYS.map((key) => [key, textOf()]))),
      items: listOf(storefrontItem),
    }),
  ),
});

/** The codes for which `matches` holds, by HTTP status. */
export function codesByStatus(matches: (code: ErrorCode) => boolean): Map<number, ErrorCode[]> {
  const codes = new Map<number, ErrorCode[]>();
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    const { httpStatus } = ERRORS[code];
    if (matches(code)) codes.set(httpStatus, [...(codes.get(httpStatus) ?? []), code]);
  }
  return codes;
}
