/**
 * The HTTP service: a Fastify server with the operations, the dashboard and the paths of the service itself. It opens
 * nothing by itself. The stages of a call are in stages.ts. Source: specification section 4, decisions "Calls",
 * docs/decisions/0007.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Refusal } from '../errors.ts';
import { Limits } from '../tenant/limits.ts';
import { readBody } from './body.ts';
import { renderContract } from './contract.ts';
import type { AnswerLimits } from './cursor.ts';
import { addDashboard } from './dashboard/dashboard.ts';
import type { DashboardServices } from './dashboard/services.ts';
import { answerError, answerMalformed, answerUndecodable, answerUnknownPath } from './error-answers.ts';
import { addHealth, type ServiceState } from './health.ts';
import { addMetrics } from './metrics.ts';
import { observeCalls, observeRequests } from './observers.ts';
import { allOperations } from './operations/all-operations.ts';
import { addReceiving, HEADER_BYTES_MAX, URL_BYTES_MAX } from './receive.ts';
import { addReference } from './reference.ts';
import { addOperation, admitByKey } from './stages.ts';

export interface AppOptions extends Omit<DashboardServices, 'limits'>, AnswerLimits {
  readonly state: ServiceState;
  readonly inFlightMost: number;
  readonly keepAliveMs: number;
  readonly log: FastifyBaseLogger;
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether the log gets a line for every request, beside faults. */
  readonly logRequests: boolean;
  readonly metrics: boolean;
  /** Free bytes of the store's disk; undefined where they are not known. */
  readonly diskFree: () => number | undefined;
}

/** Milliseconds a request may take to arrive. */
const TIMEOUTS = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const app = createServer(options);
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()]));
  addReceiving(app, options.state, options.inFlightMost);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => readBody(request, payload));
  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => answerError(error, reply, options.log));
  // RFC 9110 lets a server ignore an unknown Expect; Node's own handler would answer without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setNotFoundHandler((_request, reply) => answerUnknownPath(reply, methods));

  const observers = [observeCalls(options.requestLog)];
  if (options.metrics) observers.push(addMetrics(app, options.requestLog, options.diskFree));
  if (options.logRequests) observers.push(observeRequests(options.log));
  // One hook for all observers: each hook costs every request.
  app.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    for (const observe of observers) observe(request, reply, ms);
    done();
  });

  const operations = allOperations(options);
  const services = { ...options, limits: new Limits() };
  await app.register(async (scope) => {
    for (const operation of operations) addOperation(scope, operation, services, admitByKey(services.tenants));
    addHealth(scope, options.state);
    addReference(scope, () => renderContract(operations, options.idempotencyMs));
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
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allowUnionTypes: true } },
    frameworkErrors: (_error, _request, reply) => void answerUndecodable(reply),
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, `${boot}-${(count++).toString(36)}`),
  });
}
