/**
 * Words for what Fastify's validation found wrong: the refusal with its code, field and remedy.
 */
import type { FastifySchemaValidationError } from 'fastify';
import { Refusal } from '../errors.ts';

const PARAMETER_FORMS: Record<string, string> = {
  maxReturn: 'maxReturn must be a positive whole number.',
  storefront_order_number: "Missing 'storefront_order_number' parameter! Its leading # is written %23 in a URL.",
};

/** The refusal for the first error in a querystring, body or headers. */
export function refuseBySchema(
  errors: readonly FastifySchemaValidationError[],
  context: string,
  known: readonly string[],
): Refusal {
  const error = errors[0]!;
  if (context === 'headers') return new Refusal('INVALID_IDEMPOTENCY_KEY', undefined, { field: 'Idempotency-Key' });
  return context === 'querystring' ? refuseParameter(error, known) : refuseBody(error);
}

function refuseParameter(
  { keyword, params, instancePath }: FastifySchemaValidationError,
  known: readonly string[],
): Refusal {
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']).slice(0, 64);
    return new Refusal('UNKNOWN_PARAMETER', `There is no parameter '${name}' here; known are ${known.join(', ')}.`, {
      field: name,
    });
  }
  const name = keyword === 'required' ? String(params['missingProperty']) : unescape(instancePath.slice(1));
  const isMissing = keyword === 'required' || keyword === 'minLength';
  const message =
    PARAMETER_FORMS[name] ?? (isMissing ? `Missing '${name}' parameter!` : `The parameter '${name}' cannot be read.`);
  return new Refusal(isMissing ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER', message, { field: name });
}

function refuseBody({ keyword, params, instancePath, schemaPath }: FastifySchemaValidationError): Refusal {
  const [, head = '', member] = instancePath.split('/').map(unescape);
  if (instancePath === '' && keyword === 'type') {
    const wanted =
      params['type'] === 'array'
        ? 'a JSON array of filter objects; [] asks for all records'
        : 'a JSON object of fields; {} for none';
    return new Refusal('INVALID_BODY', `The body must be ${wanted}.`);
  }
  if (keyword === 'maxProperties')
    return new Refusal('INVALID_BODY', `The body has more than ${String(params['limit'])} fields.`);
  if (keyword === 'required' && instancePath === '') {
    const name = String(params['missingProperty']);
    return new Refusal('MISSING_FIELD', `${name} is missing: it names what to write to.`, { field: name });
  }
  if (keyword === 'maxItems') return new Refusal('TOO_MANY_FILTERS');
  if (!schemaPath.includes('/items')) {
    const form =
      keyword === 'maxLength'
        ? `has more than ${String(params['limit'])} characters`
        : 'must be a string, a number, a boolean or null, not an object or a list';
    return new Refusal('INVALID_VALUE', `${head.slice(0, 64)} ${form}.`, { field: head.slice(0, 64) });
  }
  return refuseFilter(`Filter ${Number(head) + 1}`, keyword, params, member);
}

function refuseFilter(
  filter: string,
  keyword: string,
  params: Record<string, unknown>,
  member: string | undefined,
): Refusal {
  if (keyword === 'required')
    return new Refusal('INVALID_FILTER', `${filter} lacks '${String(params['missingProperty'])}'.`, {
      field: String(params['missingProperty']),
    });
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']).slice(0, 64);
    return new Refusal(
      'INVALID_FILTER',
      `${filter} has a member '${name}'; known are field, value, contains, conjunction.`,
      { field: name },
    );
  }
  if (member === undefined) return new Refusal('INVALID_FILTER', `${filter} must be an object with field and value.`);
  const forms: Record<string, string> = {
    field: 'a field name',
    value: 'a string',
    contains: 'true or false',
    conjunction: 'AND or OR',
  };
  return new Refusal('INVALID_FILTER', `${filter}: ${member} must be ${forms[member]}.`, { field: member });
}

const unescape = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
