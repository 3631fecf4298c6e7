/**
 * Returns the refusals of values that do not match the schemas of an operation. Their messages name the field and the
 * value that was sent.
 */
import type { FastifyRequest, FastifySchemaValidationError as SchemaError } from 'fastify';
import { Refusal, refuseField, startOf } from '../../errors.ts';
import { FILTER_OPS } from '../../pims/reads/query.ts';
import { refuseMissingKey } from '../../pims/rules/values.ts';

/** The forms of parameters that do not accept every non-empty text. */
const PARAMETER_FORMS: Record<string, string> = {
  maxReturn: 'a positive whole number',
  include: "'lines' (only on POST /orders/query), or 'records', 'changes' or 'records,changes' (only on GET /changes)",
  count: "'exact'",
  fields: 'a comma-separated list of field names',
  type: 'orders, lines, customers or inventory',
  month: 'a month such as 2026-11',
  after: 'X-Next-After of the previous page, a number of at most 15 digits',
  types: 'one or more of orders, customers and inventory, separated by commas',
  wait: 'a whole number of seconds from 0 to 55',
};
const MISSING_HINTS: Record<string, string> = {
  storefront_order_number: ' Write its leading # as %23 in the URL.',
};
const FILTER_FORMS: Record<string, string> = {
  field: 'a field name',
  value: 'a string',
  op: `one of ${FILTER_OPS.join(', ')} (ge is greater or equal, le is less or equal)`,
  contains: 'true or false',
  conjunction: 'AND or OR',
};
const LINES_HINT =
  ' Add each line with addLineItem (PUT /orders/line_item), or send the order and its lines in a batch.';

/** Returns the refusal for the first error in a part of the request: querystring, body or headers. */
export function refuseBySchema([error]: readonly SchemaError[], part: string, request: FastifyRequest): Refusal {
  if (part === 'headers') return refuseField('INVALID_IDEMPOTENCY_KEY', 'Idempotency-Key');
  return part === 'querystring' ? refuseParameter(error!, request) : refuseBody(error!, request.body);
}

function refuseParameter({ keyword, params, instancePath }: SchemaError, { query, routeOptions }: FastifyRequest) {
  const known = Object.keys((routeOptions.schema!.querystring as { properties: object }).properties);
  const refuseForm = (name: string): Refusal => {
    const value = quote(findSent(query, [name]));
    return refuseField('INVALID_PARAMETER', name, `${name} must be ${PARAMETER_FORMS[name]!}, not ${value}.`);
  };
  if (keyword === 'additionalProperties') {
    const name = startOf(String(params['additionalProperty']));
    if (name === 'include') return refuseForm(name);
    const message = `This operation has no parameter '${name}'. Known parameters: ${known.join(', ')}.`;
    return refuseField('UNKNOWN_PARAMETER', name, message);
  }
  const name = keyword === 'required' ? String(params['missingProperty']) : unescape(instancePath.slice(1));
  if (keyword !== 'required' && keyword !== 'minLength') return refuseForm(name);
  const other = Object.keys(query as object).find((sent) => !known.includes(sent));
  const hint = other === undefined ? '' : ` There is no parameter '${startOf(other)}'; names are case-sensitive.`;
  return refuseField('MISSING_PARAMETER', name, `Missing '${name}' parameter!${MISSING_HINTS[name] ?? ''}${hint}`);
}

export function refuseBody({ keyword, params, instancePath, schemaPath }: SchemaError, body: unknown): Refusal {
  const path = instancePath.split('/').slice(1).map(unescape);
  const [head = '', member] = path;
  const value = findSent(body, path);
  if (instancePath === '' && keyword === 'type') {
    const list = 'a JSON array of filter objects; [] matches all records';
    const wanted = params['type'] === 'array' ? list : 'a JSON object of fields; {} for none';
    return new Refusal('INVALID_BODY', `The body must be ${wanted}.`);
  }
  if (keyword === 'maxProperties')
    return new Refusal('INVALID_BODY', `The body has more than ${String(params['limit'])} fields. Send fewer.`);
  if (keyword === 'required' && instancePath === '') return refuseMissingKey(String(params['missingProperty']));
  if (keyword === 'maxItems') return new Refusal('TOO_MANY_FILTERS');
  if (schemaPath.includes('/items')) return refuseFilter(`Filter ${head}`, keyword, params, member, value);
  const name = startOf(head);
  if (keyword === 'maxLength')
    return refuseField('INVALID_VALUE', name, `${name} has more than ${String(params['limit'])} characters.`);
  const hint = Array.isArray(value) && /line|item/i.test(name) ? LINES_HINT : '';
  const form = 'a string, a number, a boolean or null';
  return refuseField('INVALID_VALUE', name, `${name} must be ${form}, not ${quote(value)}.${hint}`);
}

function refuseFilter(
  filter: string,
  keyword: string,
  params: SchemaError['params'],
  member: string | undefined,
  value: unknown,
): Refusal {
  if (keyword === 'required') {
    const name = String(params['missingProperty']);
    return refuseField('INVALID_FILTER', name, `${filter} has no '${name}'.`);
  }
  if (keyword === 'additionalProperties') {
    const name = startOf(String(params['additionalProperty']));
    const known = Object.keys(FILTER_FORMS).join(', ');
    return refuseField('INVALID_FILTER', name, `${filter} has an unknown member '${name}'. Use ${known}.`);
  }
  if (member === undefined)
    return new Refusal('INVALID_FILTER', `${filter} must be an object with field, op and value, not ${quote(value)}.`);
  const form = FILTER_FORMS[member];
  const hint = member === 'value' && value === null ? ' To find records without a value, use the op empty.' : '';
  return refuseField('INVALID_FILTER', member, `${filter}: ${member} must be ${form}, not ${quote(value)}.${hint}`);
}

/** Returns the value that was sent at a path, such as `['0', 'op']`. */
const findSent = (sent: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], sent);

/** Renders at most 64 characters of a value for a message. */
const quote = (value: unknown) =>
  typeof value === 'string'
    ? `'${startOf(value)}'`
    : Array.isArray(value)
      ? 'a list'
      : JSON.stringify(value).slice(0, 64);

const unescape = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
