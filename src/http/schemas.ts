/**
 * Shapes of what goes in and out, written once: the service validates requests with them and the contract is made from them.
 * Says nothing about meaning; that is pims/.
 */
import { Type, type TObject, type TSchema } from 'typebox';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { FILTERS_MAX } from '../pims/filter.ts';
import { BUILT_IN_FIELDS, FIELDS_MAX, VALUE_CHARACTERS_MAX, type RecordType } from '../pims/record.ts';

const CREDENTIAL_PARAMETERS = {
  teamID: Type.Optional(
    Type.String({ minLength: 1, description: 'Tenant identifier. Required; on body-carrying requests it may be in an object body instead.' }),
  ),
  apiID: Type.Optional(Type.String({ description: 'API ID, unless Basic credentials are sent.' })),
  apiSecret: Type.Optional(Type.String({ description: 'API Secret, unless Basic credentials are sent. Prefer Basic: URLs end up in logs.' })),
};

/** The query of an operation: its own parameters and the ways of saying who calls. */
export const queryOf = (parameters: Record<string, TSchema> = {}): TObject =>
  Type.Object({ ...CREDENTIAL_PARAMETERS, ...parameters }, { additionalProperties: false });

export const required = (description: string): TSchema => Type.String({ minLength: 1, description });

export const pageQuery = queryOf({
  maxReturn: Type.Optional(
    Type.String({
      pattern: '^0*[1-9][0-9]*$',
      description: 'Maximum number of records: a positive whole number, 500 when not sent; more than 5000 is served as 5000.',
    }),
  ),
  cursor: Type.Optional(Type.String({ minLength: 1, description: 'X-Next-Cursor of the answer before: goes on where it ended.' })),
});

const rawValue = Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'], maxLength: VALUE_CHARACTERS_MAX });

/** Any field of the tenant's dictionary; the commonly used ones are named so that they show up in the contract. */
export function fieldsBody(recordType: RecordType, description: string, needed: readonly string[] = []): TSchema {
  const settable = BUILT_IN_FIELDS[recordType].filter(({ name, assigned }) => !assigned || needed.includes(name));
  const properties = Object.fromEntries(settable.map(({ name, type }) => [name, { ...rawValue, description: FIELD_FORMS[type] }]));
  return Type.Unsafe({
    type: 'object',
    description,
    properties,
    additionalProperties: rawValue,
    maxProperties: FIELDS_MAX,
    ...(needed.length > 0 && { 'x-required': needed }),
  });
}

const FIELD_FORMS = {
  text: 'Text.',
  number: 'Decimal number.',
  date: 'Date, m/d/yyyy or yyyy-mm-dd; answered mm/dd/yyyy.',
  flag: 'Y or N.',
  timestamp: 'UTC, ISO 8601.',
};

export const filtersBody = Type.Array(
  Type.Object(
    {
      field: Type.String({ description: 'Field name of the queried record type.' }),
      value: Type.Unsafe<string>({ type: ['string', 'number', 'boolean'], description: 'Value to match, at most 256 characters.' }),
      contains: Type.Optional(Type.Boolean({ description: 'true: substring, whatever the case; false (default): exactly this value.' })),
      conjunction: Type.Optional(
        Type.String({
          pattern: '^([Aa][Nn][Dd]|[Oo][Rr])$',
          description: 'AND or OR: how this filter combines with the one before. AND binds tighter; AND when left out.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  { maxItems: FILTERS_MAX, description: 'Filters; [] asks for all records.' },
);

/** A record as it is answered: every value a string. */
export function recordAnswer(recordType: RecordType): TSchema {
  const names = BUILT_IN_FIELDS[recordType].map(({ name }) => name);
  return Type.Unsafe({
    type: 'object',
    description: 'Fields of the tenant, custom ones included; "" where there is no value.',
    properties: Object.fromEntries(BUILT_IN_FIELDS[recordType].map(({ name, type }) => [name, { type: 'string', description: FIELD_FORMS[type] }])),
    required: names,
    additionalProperties: { type: 'string' },
  });
}

export const envelopeOf = (data: TSchema, subRecords: TSchema = Type.Null()): TSchema =>
  Type.Object({ status: Type.Literal('success'), data, subRecords }, { additionalProperties: false });

/** The error body for these codes. */
export const errorAnswer = (codes: readonly ErrorCode[]): TSchema =>
  Type.Object(
    {
      status: Type.Literal('error'),
      data: Type.Null(),
      subRecords: Type.Null(),
      message: Type.String({ description: 'A plain sentence; for a PIMS refusal the words of PIMS.' }),
      code: Type.Unsafe<ErrorCode>({ type: 'string', enum: codes, description: 'Stable; branch on this.' }),
      field: Type.Optional(Type.String({ description: 'The parameter or field that is wrong.' })),
      requestId: Type.String({ description: 'As in X-Request-Id; quote it when reporting.' }),
    },
    { additionalProperties: false },
  );

export const storefrontAnswer = Type.Object(
  {
    storefront_order_number: Type.String(),
    orders: Type.Array(
      Type.Object(
        {
          order_type: Type.Unsafe<string>({ type: 'string', enum: ['invoice', 'sales_order', 'quote', 'worksheet'] }),
          pims_order_number: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
          create_date: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'ISO 8601; null when PIMS has none.' }),
          modified_date: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'ISO 8601; null when PIMS has none.' }),
          tracking_numbers: Type.Array(Type.String()),
          is_dropship: Type.Boolean(),
          shipping_address: Type.Object(
            Object.fromEntries(['name', 'attention', 'address_1', 'address_2', 'city', 'state', 'zip', 'country', 'phone'].map((key) => [key, Type.String()])),
            { additionalProperties: false },
          ),
          items: Type.Array(
            Type.Object(
              {
                part_number: Type.String(),
                description: Type.String(),
                quantity: Type.Number({ description: 'Quantity ordered on the line.' }),
                shipped: Type.Number({ description: 'Quantity shipped; lower than quantity means a partial shipment.' }),
                serial_numbers: Type.Array(Type.String(), { description: 'Always empty for care-plan items.' }),
                is_care_plan: Type.Boolean(),
              },
              { additionalProperties: false },
            ),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

/** The codes an operation can answer, by HTTP status. */
export function codesByStatus(matches: (code: ErrorCode) => boolean): Map<number, ErrorCode[]> {
  const codes = new Map<number, ErrorCode[]>();
  for (const code of Object.keys(ERRORS) as ErrorCode[])
    if (matches(code)) codes.set(ERRORS[code].httpStatus, [...(codes.get(ERRORS[code].httpStatus) ?? []), code]);
  return codes;
}
