/**
 * Sends the errors of all requests: refusals thrown during a call, unknown paths, and requests that Node or Fastify
 * cannot parse or validate.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest, ConnectionError, FastifyError, FastifyReply } from 'fastify';
import { Refusal } from '../../errors.ts';
import { findNear } from '../../pims/rules/fields.ts';
import type { NoteFault } from '../observe/observers.ts';
import type { Operation } from '../operations/operation.ts';
import { refuseBySchema } from '../operations/schema-refusals.ts';
import { BASE_PATH, JSON_TYPE, STATIC_HEADERS } from '../server/protocol.ts';
import { hasBody, isBodyLeft, URL_BYTES_MAX } from '../server/receive.ts';
import { isAnswering } from '../server/connections.ts';
import { STATUS_CODES } from '../server/node-http.ts';
import { renderError, sendAnswer, setTag } from '../server/answer.ts';

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
