/**
 * The JSON Schemas of requests and responses: those with which Fastify validates requests, and the parts of those that
 * the contract names (tools/contract). The rules of values are in pims/.
 */
import { BUILT_IN_FIELDS, type Field, type RecordType } from '../../pims/rules/fields.ts';
import { FILTER_OPS } from '../../pims/reads/query.ts';
import {
  FIELDS_MAX,
  FILTER_LIST_MAX,
  FILTER_VALUE_CHARACTERS_MAX,
  FILTERS_MAX,
  NUMBERS_MAX,
  VALUE_CHARACTERS_MAX,
} from '../../pims/rules/record-bounds.ts';
import type { AnswerLimits } from './cursor.ts';
import {
  booleanOf,
  listOf,
  mapValues,
  matching,
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

export function maxReturnOf({
  maxReturnDefault,
  returnMax,
}: Pick<AnswerLimits, 'maxReturnDefault' | 'returnMax'>): Schema {
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

/** A request body: the schema with which Fastify validates it, and what its schema in the contract is made from. */
export interface BodySchema {
  readonly name: string;
  readonly validated: Schema;
  readonly documented?: Schema;
  readonly fields?: DocumentedFields;
  readonly members?: DocumentedMembers;
}

/** The fields of a record that a body has, and those without which it names no record. */
export interface DocumentedFields {
  readonly about: string;
  readonly fields: readonly Field[];
  readonly needed: readonly string[];
  /** The fields that the operation refuses. */
  readonly refused: readonly string[];
  /** The body that this one extends. */
  readonly base: BodySchema | undefined;
}
export interface DocumentedMembers {
  readonly about: string;
  readonly needed: Members;
  readonly optional: Members;
}

/** PIMS parses each value by its field and says what is wrong with it. Fastify only checks that it is a scalar. */
export const SCALAR: Schema = { type: ['string', 'number', 'boolean', 'null'], maxLength: VALUE_CHARACTERS_MAX };
const scalarsOf = (properties: Members, needed: readonly string[]): Schema => ({
  type: 'object',
  properties,
  required: needed,
  additionalProperties: SCALAR,
  maxProperties: FIELDS_MAX,
});

/** Builds a body with the fields that PIMS does not set, and the fields that identify the record (`needed`). */
export function fieldsBody(
  name: string,
  recordType: RecordType,
  about: string,
  { needed = [], refused = [], base }: { needed?: string[]; refused?: string[]; base?: BodySchema } = {},
): BodySchema {
  const fields = BUILT_IN_FIELDS[recordType].filter((field) => !field.assigned || needed.includes(field.name));
  const validated = scalarsOf(Object.fromEntries(fields.map((field) => [field.name, SCALAR])), needed);
  return { name, validated, fields: { about, fields, needed, refused, base } };
}

/** Describes a body with these members. PIMS refuses other members and wrong values, with its own messages. */
export const membersBody = (name: string, about: string, needed: Members, optional: Members = {}): BodySchema => ({
  name,
  validated: scalarsOf(
    mapValues({ ...needed, ...optional }, ({ type, maxLength = VALUE_CHARACTERS_MAX }) =>
      type === 'array' ? {} : { ...SCALAR, maxLength },
    ),
    Object.keys(needed),
  ),
  members: { about, needed, optional },
});

const FILTER_VALUE = ['string', 'number', 'boolean'];
export const filterOf = (conjunction: Schema): Schema =>
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
