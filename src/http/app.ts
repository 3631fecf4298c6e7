/**
 * The HTTP service: limits of a request, the operations on their paths, and the one place where an error becomes an answer. Uses what it is given;
 * opens nothing. Source: specification section 4, decisions "Calls", docs/decisions/0007.
 */
import { randomBytes } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { Refusal } from '../errors.ts';
import type { SignedIn } from '../account/port.ts';
import { Limits } from '../tenant/limits.ts';
import type { CountedCall } from '../tenant/metering.ts';
import type { Tenant } from '../tenant/port.ts';
import { readBody } from './body.ts';
import type { PageLimits } from './cursor.ts';
import { customerOperations } from './operations/customers.ts';
import { addDashboard } from './dashboard/dashboard.ts';
import type { DashboardServices } from './dashboard/services.ts';
import { JSON_TYPE, sendRefusal, STATIC_HEADERS, renderError } from './envelope.ts';
import { inventoryOperations } from './operations/inventory.ts';
import { addContract, renderContract } from './openapi.ts';
import { observeCalls } from './request-log.ts';
import { addOperation, apiDoor, type OperationServices } from './route.ts';
import { orderOperations } from './operations/orders.ts';
import { addHealth, addMetrics, addReference, type AnswerObserver, type ServiceState } from './service.ts';
import { refuseBySchema } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the operation the path belongs to. */
    operation: string | undefined;
    /** Content-Type as it was sent; the header itself is made one that Fastify passes on unjudged. */
    sentType: string | undefined;
    authorizations: number;
    now: string;
    tenant: Tenant | undefined;
    /** What the caller said it was, once it was found to be. */
    apiId: string | null;
    /** Of a request from the dashboard's pages. */
    signedIn: SignedIn | undefined;
    counted: CountedCall | undefined;
    /** What the request was refused with. */
    refusal: Refusal | undefined;
  }
}

export interface AppOptions extends Omit<OperationServices, 'limits'>, PageLimits, DashboardServices {
  readonly state: ServiceState;
  readonly inFlightMost: number;
  readonly keepAliveMs: number;
  readonly log: FastifyBaseLogger;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Whether every answered request is logged, not only faults. */
  readonly logRequests: boolean;
  readonly metrics: boolean;
}

const URL_BYTES_MAX = 8192;
const HEADER_BYTES_MAX = 8192;
const HEADERS_MAX = 100;
/** A request line too long for Node to have read it. */
const LONG_URL = new RegExp(`^[A-Z]+ [^ \\r\\n]{${URL_BYTES_MAX}}`);
/** How long a request may take to arrive, and an idle connection that has sent nothing may stay. */
const TIMEOUTS = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const app = createServer(options);
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()]));
  for (const name of ['operation', 'sentType', 'tenant', 'signedIn', 'counted', 'refusal'])
    app.decorateRequest(name, undefined);
  app.decorateRequest('apiId', null);
  app.decorateRequest('authorizations', 0);
  app.decorateRequest('now', '');

  limitRequests(app, options);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => readBody(request, payload));
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error: FastifyError | Refusal, request, reply) =>
    answerError(error, request, reply, options.log),
  );
  // An Expect that Node does not know may be passed over (RFC 9110); Node by itself would answer without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setNotFoundHandler((request, reply) => sendRefusal(request, reply, refusePath(request, reply, methods)));

  const observers = [observeCalls(options.requestLog)];
  if (options.metrics) observers.push(addMetrics(app, options.requestLog));
  if (options.logRequests) observers.push(observeRequests(options.log));
  // One hook for all: every request pays for each.
  app.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    for (const observe of observers) observe(request, reply, ms);
    done();
  });

  await addContract(app);
  const operations = [...orderOperations(options), ...customerOperations(options), ...inventoryOperations(options)];
  const services = { ...options, limits: new Limits() };
  await app.register(async (scope) => {
    for (const operation of operations) addOperation(scope, operation, services, apiDoor(services));
    addHealth(scope, options.state);
    addReference(scope, () => renderContract(app, operations));
  });
  await app.register((scope) => addDashboard(scope, services, operations));
  return app;
}

function createServer({ keepAliveMs, trustedProxies }: AppOptions): FastifyInstance {
  const boot = randomBytes(4).toString('base64url');
  let count = 0;
  return Fastify({
    genReqId: () => `${boot}-${(count++).toString(36)}`,
    http: { ...TIMEOUTS, maxHeaderSize: URL_BYTES_MAX + HEADER_BYTES_MAX + 1024, requireHostHeader: false },
    requestTimeout: TIMEOUTS.requestTimeout,
    keepAliveTimeout: keepAliveMs,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: URL_BYTES_MAX },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        allowUnionTypes: true,
      },
    },
    frameworkErrors: (_error, request, reply: FastifyReply) => {
      void reply
        .headers({ ...STATIC_HEADERS, 'x-request-id': request.id })
        .type(JSON_TYPE)
        .code(400)
        .send(renderError(new Refusal('MALFORMED_REQUEST', 'The path of the URL cannot be decoded.'), request.id));
    },
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, `${boot}-${(count++).toString(36)}`),
  });
}

/** What holds for every request before anybody looks at it. */
function limitRequests(app: FastifyInstance, { inFlightMost, state }: AppOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    state.inFlight++;
    // It comes once by itself; `once` would pay for saying so.
    reply.raw.on('close', () => void state.inFlight--);
    if (state.stopping) reply.header('connection', 'close');
    reply.headers(STATIC_HEADERS).header('x-request-id', request.id);
    request.sentType = raw.headers['content-type'];
    if (request.sentType !== undefined) raw.headers['content-type'] = JSON_TYPE;
    const { bytes, hosts, authorizations } = measureHeaders(raw.rawHeaders);
    request.authorizations = authorizations;
    if (raw.url!.length > URL_BYTES_MAX) throw new Refusal('URL_TOO_LONG');
    if (bytes > HEADER_BYTES_MAX || raw.rawHeaders.length > 2 * HEADERS_MAX) throw new Refusal('HEADERS_TOO_LARGE');
    if (raw.httpVersionMajor !== 1) throw new Refusal('MALFORMED_REQUEST', 'This service speaks HTTP/1.1.');
    if (hosts !== 1 && !(hosts === 0 && raw.httpVersion === '1.0'))
      throw new Refusal('MALFORMED_REQUEST', `A request has one Host header, not ${hosts}.`);
    // The framing of any other coding is a guess, and a proxy in front may guess otherwise.
    if (!/^(chunked)?$/i.test(raw.headers['transfer-encoding'] ?? '')) {
      reply.header('connection', 'close');
      throw new Refusal('MALFORMED_REQUEST', 'The only Transfer-Encoding taken is chunked.');
    }
    if (state.inFlight > inFlightMost) throw new Refusal('SERVICE_BUSY', undefined, { retryAfterSeconds: 1 });
    done();
  });
}

function measureHeaders(raw: readonly string[]): { bytes: number; hosts: number; authorizations: number } {
  const sums = { bytes: 0, hosts: 0, authorizations: 0 };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!;
    sums.bytes += name.length + raw[index + 1]!.length + 4;
    if (name.length === 4 && name.toLowerCase() === 'host') sums.hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') sums.authorizations++;
  }
  return sums;
}

/** The one place where an error becomes an answer. What is no refusal is a fault: logged whole, answered without a word of it. */
async function answerError(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
  log: FastifyBaseLogger,
): Promise<FastifyReply> {
  const refusal = toRefusal(error, request);
  if (refusal.httpStatus >= 500) {
    const about = { requestId: request.id, operation: request.operation, teamId: request.tenant?.teamId };
    if (error === refusal) log.warn(about, refusal.code);
    else log.error({ ...about, err: error }, refusal.code);
  }
  if (refusal.code === 'BODY_TOO_LARGE' || refusal.code === 'BODY_NOT_ALLOWED') reply.header('connection', 'close');
  try {
    return await sendRefusal(request, reply, refusal);
  } catch (fault) {
    request.counted = undefined;
    return sendRefusal(request, reply, toRefusal(fault as Error, request));
  }
}

function toRefusal(error: Error, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error;
  const { validation, validationContext, statusCode } = error as FastifyError;
  if (validation) {
    const known = (request.routeOptions.schema?.querystring as { properties: object } | undefined)?.properties ?? {};
    return refuseBySchema(validation, validationContext ?? 'body', Object.keys(known));
  }
  return statusCode !== undefined && statusCode < 500
    ? new Refusal('MALFORMED_REQUEST')
    : new Refusal('INTERNAL_ERROR');
}

function refusePath(request: FastifyRequest, reply: FastifyReply, methods: ReadonlyMap<string, string[]>): Refusal {
  const path = request.url.split('?', 1)[0]!;
  const allowed = methods.get(path);
  if (!allowed) return new Refusal('UNKNOWN_PATH', `There is nothing at ${path.slice(0, 256)}.`);
  reply.header('allow', allowed.join(', '));
  return new Refusal('METHOD_NOT_ALLOWED', `${path} takes ${allowed.join(' or ')}, not ${request.method}.`);
}

/** Requests that Node could not read reach no hook; they get the same error body. */
function answerMalformed(
  error: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
  requestId: string,
): void {
  if (!socket.writable) return;
  // As Node's own handler does: an answer that has begun must not be followed by a second one.
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  if (begun?.headersSent) return socket.destroySoon();
  const codes = { HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE', ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT' } as const;
  const isLongUrl = error.code === 'HPE_HEADER_OVERFLOW' && LONG_URL.test(String(error.rawPacket));
  const refusal = new Refusal(
    isLongUrl ? 'URL_TOO_LONG' : (codes[error.code as keyof typeof codes] ?? 'MALFORMED_REQUEST'),
  );
  const body = renderError(refusal, requestId);
  const headers = {
    ...STATIC_HEADERS,
    'content-type': JSON_TYPE,
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${refusal.httpStatus} ${STATUS_CODES[refusal.httpStatus]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  );
}

/** One line a request, without its query, its body or its headers. */
const observeRequests =
  (log: FastifyBaseLogger): AnswerObserver =>
  ({ id, ip, operation, tenant }, { statusCode }, ms) =>
    log.debug({ requestId: id, operation, teamId: tenant?.teamId, httpStatus: statusCode, ms, client: ip }, 'answered');
