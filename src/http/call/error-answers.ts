/**
 * Sends the errors of all requests: refusals thrown during a call, unknown paths, requests that Node or Fastify cannot
 * parse, and values that Fastify's validation rejects. Their messages name the field and the value that was sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type {
  FastifyRequest,
  FastifySchemaValidationError as SchemaError,
  ConnectionError,
  FastifyError,
  FastifyReply,
} from 'fastify';
import { Refusal, refuseField } from '../../errors.ts';
import { FILTER_OPS } from '../../pims/reads/query.ts';
import { findNear } from '../../pims/rules/fields.ts';
import { refuseMissingKey } from '../../pims/rules/values.ts';
import type { NoteFault } from '../observe/observers.ts';
import { BASE_PATH, type Operation } from '../operations/operation.ts';
import { hasBody, isBodyLeft, URL_BYTES_MAX } from '../server/receive.ts';
import { isAnswering } from '../server/connections.ts';
import { STATUS_CODES } from '../server/node-http.ts';
import { JSON_TYPE, renderError, sendAnswer, STATIC_HEADERS, setTag } from './answer.ts';

/**
 * Maximum size of a body that is read and dropped when the service is too busy for its call, because a new connection
 * would be more expensive.
 */
const DROPPED_BYTES_MAX = 16 * 1024;

/** Matches the beginning of a request line whose URL is too long. */
const LONG_URL = new RegExp(`^[A-Z]+ [^ \\r\\n]{${URL_BYTES_MAX}}`);

/**
 * Sends a refusal, also for a request that Fastify rejects. Any other error is a fault: it is logged, and the caller
 * gets INTERNAL_ERROR.
 */
export async function answerError(
  error: FastifyError | Refusal,
  reply: FastifyReply,
  noteFault: NoteFault,
): Promise<FastifyReply> {
  const { request } = reply;
  const refusal = toRefusal(error, request);
  if (refusal.code === 'SERVICE_BUSY') request.load.countRefusal();
  else if (refusal.httpStatus >= 500) noteFault(request, refusal, error);
  const isGivenUp = refusal.code === 'SERVICE_BUSY' && !request.raw.complete;
  if (isGivenUp || isBodyLeft(request.raw) || refusal.code === 'BODY_NOT_ALLOWED') reply.header('connection', 'close');
  try {
    return await sendRefusal(reply, refusal);
  } catch (fault) {
    request.counted = undefined;
    return sendRefusal(reply, toRefusal(fault as Error, request));
  }
}

function toRefusal(error: Error, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error;
  const { validation, validationContext, statusCode } = error as FastifyError;
  if (validation) return refuseBySchema(validation, validationContext ?? 'body', request);
  return new Refusal(statusCode !== undefined && statusCode < 500 ? 'MALFORMED_REQUEST' : 'INTERNAL_ERROR');
}

/**
 * Refuses a path that does not exist or does not support the method. `methods` lists the methods of each path. Compares
 * the path with those of the operations only, because anonymous callers decide how often this runs.
 */
export function answerUnknownPath(
  reply: FastifyReply,
  methods: ReadonlyMap<string, string[]>,
  operations: readonly Operation[],
): Promise<FastifyReply> {
  const { url, method } = reply.request;
  const path = url.split('?', 1)[0]!;
  const allowed = methods.get(path);
  if (isBodyLeft(reply.request.raw)) reply.header('connection', 'close');
  if (!allowed) {
    const known = operations.map((one) => one.path);
    const near = findNear(known, path.replace(BASE_PATH, ''));
    const suggestion = near && BASE_PATH + near;
    const hint = suggestion ? ` Did you mean ${suggestion}?` : '';
    const message = `The path ${path.slice(0, 256)} does not exist.${hint} Operations are below ${BASE_PATH}.`;
    return sendRefusal(reply, new Refusal('UNKNOWN_PATH', message, { suggestion }));
  }
  reply.header('allow', allowed.join(', '));
  return sendRefusal(
    reply,
    new Refusal('METHOD_NOT_ALLOWED', `${path} supports ${allowed.join(' or ')}, not ${method}.`),
  );
}

export function answerUndecodable(reply: FastifyReply): FastifyReply {
  const { id } = reply.request;
  const refusal = new Refusal('MALFORMED_REQUEST', 'The path of the URL is not percent-encoded UTF-8.');
  reply.headers({ ...STATIC_HEADERS, 'x-request-id': id, 'content-type': JSON_TYPE });
  return reply.code(400).send(renderError(refusal, id));
}

/** The body of the response up to the request's ID. */
const BUSY_BODY = renderError(new Refusal('SERVICE_BUSY'), '').slice(0, -2);
const BUSY_HEADERS = Object.entries({ ...STATIC_HEADERS, 'content-type': JSON_TYPE, 'retry-after': '1' }).flat();

/** Sends SERVICE_BUSY for a request that the service does not begin. Does not read a body that may be large. */
export function answerBusy(message: IncomingMessage, response: ServerResponse, requestId: string): void {
  const body = `${BUSY_BODY}${requestId}"}`;
  const headers = [...BUSY_HEADERS, 'x-request-id', requestId, 'content-length', String(body.length)];
  const { expect, 'content-length': length } = message.headers;
  if (expect !== undefined || (hasBody(message) && !(Number(length) <= DROPPED_BYTES_MAX)))
    headers.push('connection', 'close');
  response.writeHead(503, headers).end(body);
}

/**
 * Responds to a request that Node could not parse, directly on its socket. Returns the status if there is a response.
 */
export function answerMalformed(error: ConnectionError, socket: Socket, requestId: string): number | undefined {
  if (!socket.writable) return undefined;
  // A second response would end up inside the first.
  if (isAnswering(socket)) {
    socket.destroySoon();
    return undefined;
  }
  const codes = {
    HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
    ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
    CONNECT: 'METHOD_NOT_ALLOWED',
  } as const;
  // Fastify's type describes the JSON of a Buffer.
  const packet: unknown = error.rawPacket;
  const isLongUrl = error.code === 'HPE_HEADER_OVERFLOW' && LONG_URL.test(String(packet));
  const known = isLongUrl ? 'URL_TOO_LONG' : codes[error.code as keyof typeof codes];
  const refusal = new Refusal(known ?? 'MALFORMED_REQUEST');
  const { httpStatus } = refusal;
  const body = renderError(refusal, requestId);
  const headers = {
    ...STATIC_HEADERS,
    'content-type': JSON_TYPE,
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...(httpStatus === 405 && { allow: '' }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${httpStatus} ${STATUS_CODES[httpStatus]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return httpStatus;
}

/** Sends a refusal with the headers of its code. */
function sendRefusal(reply: FastifyReply, refusal: Refusal): Promise<FastifyReply> {
  reply.request.refusal = refusal;
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
  if (refusal.tag === undefined) reply.removeHeader('etag');
  else setTag(reply, refusal.tag);
  if (refusal.code === 'INVALID_CREDENTIALS') reply.header('www-authenticate', 'Basic realm="storeroom"');
  return sendAnswer(reply, refusal.httpStatus, renderError(refusal, reply.request.id));
}

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
    const value = quote(find(query, [name]));
    return refuseField('INVALID_PARAMETER', name, `${name} must be ${PARAMETER_FORMS[name]!}, not ${value}.`);
  };
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']).slice(0, 64);
    if (name === 'include') return refuseForm(name);
    const message = `This operation has no parameter '${name}'. Known parameters: ${known.join(', ')}.`;
    return refuseField('UNKNOWN_PARAMETER', name, message);
  }
  const name = keyword === 'required' ? String(params['missingProperty']) : unescape(instancePath.slice(1));
  if (keyword !== 'required' && keyword !== 'minLength') return refuseForm(name);
  const other = Object.keys(query as object).find((sent) => !known.includes(sent));
  const hint = other === undefined ? '' : ` There is no parameter '${other.slice(0, 64)}'; names are case-sensitive.`;
  return refuseField('MISSING_PARAMETER', name, `Missing '${name}' parameter!${MISSING_HINTS[name] ?? ''}${hint}`);
}

export function refuseBody({ keyword, params, instancePath, schemaPath }: SchemaError, body: unknown): Refusal {
  const path = instancePath.split('/').slice(1).map(unescape);
  const [head = '', member] = path;
  const value = find(body, path);
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
  const name = head.slice(0, 64);
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
    const name = String(params['additionalProperty']).slice(0, 64);
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
const find = (sent: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], sent);

/** Renders at most 64 characters of a value for a message. */
const quote = (value: unknown) =>
  typeof value === 'string'
    ? `'${value.slice(0, 64)}'`
    : Array.isArray(value)
      ? 'a list'
      : JSON.stringify(value).slice(0, 64);

const unescape = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
