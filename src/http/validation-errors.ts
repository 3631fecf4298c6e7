/** Words for what Fastify's validation found wrong: the refusal with its code, field and remedy. */
import type { FastifySchemaValidationError as SchemaError } from 'fastify';
import { Refusal, type ErrorCode } from '../errors.ts';
import { FILTER_OPS } from '../pims/filter.ts';

const PARAMETER_FORMS: Record<string, string> = {
  maxReturn: 'maxReturn must be a positive whole number.',
  include: 'include must be lines, and only POST /orders/query takes it.',
  count: 'count must be exact.',
  fields: 'fields must be names of fields with commas between.',
  type: 'type must be orders, lines, customers or inventory.',
  month: 'month must be a month such as 2026-11.',
  storefront_order_number: "Missing 'storefront_order_number' parameter! Its leading # is written %23 in a URL.",
};
const FILTER_FORMS: Record<string, string> = {
  field: 'a field name',
  value: 'a string',
  op: `one of ${FILTER_OPS.join(', ')}`,
  contains: 'true or false',
  conjunction: 'AND or OR',
};

const refuse = (code: ErrorCode, message: string | undefined, field: string): Refusal =>
  new Refusal(code, message, { field });

/** The refusal for the first error in a querystring, body or headers; `known` are the parameters there are. */
export function refuseBySchema(errors: readonly SchemaError[], context: string, known: readonly string[]): Refusal {
  const error = errors[0]!;
  if (context === 'headers') return refuse('INVALID_IDEMPOTENCY_KEY', undefined, 'Idempotency-Key');
  return context === 'querystring' ? refuseParameter(error, known) : refuseBody(error);
}

function refuseParameter({ keyword, params, instancePath }: SchemaError, known: readonly string[]): Refusal {
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']).slice(0, 64);
    if (name === 'include') return refuse('INVALID_PARAMETER', PARAMETER_FORMS[name], name);
    return refuse('UNKNOWN_PARAMETER', `There is no parameter '${name}' here; known are ${known.join(', ')}.`, name);
  }
  const name = keyword === 'required' ? String(params['missingProperty']) : unescape(instancePath.slice(1));
  const isMissing = keyword === 'required' || keyword === 'minLength';
  const fallback = isMissing ? `Missing '${name}' parameter!` : `The parameter '${name}' cannot be read.`;
  return refuse(isMissing ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER', PARAMETER_FORMS[name] ?? fallback, name);
}

function refuseBody({ keyword, params, instancePath, schemaPath }: SchemaError): Refusal {
  const [, head = '', member] = instancePath.split('/').map(unescape);
  if (instancePath === '' && keyword === 'type') {
    const list = 'a JSON array of filter objects; [] asks for all records';
    const wanted = params['type'] === 'array' ? list : 'a JSON object of fields; {} for none';
    return new Refusal('INVALID_BODY', `The body must be ${wanted}.`);
  }
  if (keyword === 'maxProperties')
    return new Refusal('INVALID_BODY', `The body has more than ${String(params['limit'])} fields.`);
  if (keyword === 'required' && instancePath === '') {
    const name = String(params['missingProperty']);
    return refuse('MISSING_FIELD', `${name} is missing: it names what to write to.`, name);
  }
  if (keyword === 'maxItems') return new Refusal('TOO_MANY_FILTERS');
  if (schemaPath.includes('/items')) return refuseFilter(`Filter ${Number(head) + 1}`, keyword, params, member);
  const tooLong = `has more than ${String(params['limit'])} characters`;
  const form =
    keyword === 'maxLength' ? tooLong : 'must be a string, a number, a boolean or null, not an object or a list';
  return refuse('INVALID_VALUE', `${head.slice(0, 64)} ${form}.`, head.slice(0, 64));
}

function refuseFilter(filter: string, keyword: string, params: SchemaError['params'], member?: string): Refusal {
  if (keyword === 'required') {
    const name = String(params['missingProperty']);
    return refuse('INVALID_FILTER', `${filter} lacks '${name}'.`, name);
  }
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']).slice(0, 64);
    const known = Object.keys(FILTER_FORMS).join(', ');
    return refuse('INVALID_FILTER', `${filter} has a member '${name}'; known are ${known}.`, name);
  }
  if (member === undefined) return new Refusal('INVALID_FILTER', `${filter} must be an object with field and value.`);
  return refuse('INVALID_FILTER', `${filter}: ${member} must be ${FILTER_FORMS[member]}.`, member);
}

const unescape = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
