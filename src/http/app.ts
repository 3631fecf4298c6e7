/**
 * The HTTP service: a Fastify server with the operations, the dashboard and the paths of the service itself. It opens
 * nothing by itself. The stages of a call are in stages.ts. Source: specification section 4, decisions "Calls",
 * docs/decisions/0007.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Refusal } from '../errors.ts';
import { Limits } from '../tenant/call-limits.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { BODY_BYTES_MAX, readBody } from './server/body.ts';
import { createConnectionServer, type EndedFor } from './server/connections.ts';
import { renderContract } from './contract/contract.ts';
import type { AnswerLimits } from './call/cursor.ts';
import { addDashboard } from './dashboard/dashboard.ts';
import type { DashboardServices } from './dashboard/services.ts';
import {
  answerBusy,
  answerError,
  answerMalformed,
  answerUndecodable,
  answerUnknownPath,
} from './call/error-answers.ts';
import { FaultLog } from './observe/fault-log.ts';
import { addHealth, whyNotReady, type ServiceState } from './observe/health.ts';
import { Load, type LoadLimits } from './server/load.ts';
import { addMetrics } from './observe/metrics.ts';
import { observeCalls, observeRequests } from './observe/observers.ts';
import { allOperations } from './operations/operations.ts';
import { BASE_PATH } from './operations/operation.ts';
import type { Readings } from './observe/readings.ts';
import { addReceiving, HEADER_BYTES_MAX, URL_BYTES_MAX } from './server/receive.ts';
import { addReference } from './contract/reference.ts';
import { addOperation, admitByKey } from './call/stages.ts';

export interface AppOptions extends Omit<DashboardServices, 'limits'>, AnswerLimits, LoadLimits {
  readonly state: ServiceState;
  readonly keepAliveMs: number;
  readonly log: FastifyBaseLogger;
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether the log gets a line for every request, beside faults. */
  readonly logRequests: boolean;
  readonly metrics: boolean;
  /** The store's name in traces, where they are switched on. */
  readonly tracing: 'sqlite' | 'postgresql' | undefined;
  /** For /metrics: what the app cannot know by itself. */
  readonly measure: () => Pick<Readings, 'store' | 'disk' | 'backup'>;
}

const AJV_OPTIONS = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allowUnionTypes: true,
  // Both took more of every start than they are worth: the schemas are our own, and V8 optimizes what runs often.
  validateSchema: false,
  code: { optimize: false },
};

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const load = new Load(options, options.log, options.clock);
  const early: Early = { answers: new Map(), connectionsEnded: { pipeline: 0, untaken: 0 } };
  const app = createServer(options, load, early);
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()]));
  addReceiving(app, options.state, load, (reply) => void answerUnknownPath(reply, methods));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', readBody);
  const faults = new FaultLog(options.log, options.clock);
  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => answerError(error, reply, faults));

  const observers = [observeCalls(options.requestLog)];
  if (options.metrics)
    observers.push(addMetrics(app, options.clock, () => measure(options, load, early.connectionsEnded), early.answers));
  if (options.logRequests) observers.push(observeRequests(options.log));
  const traced = options.tracing && (await trace(options, options.tracing, app));
  // First: it takes the time at which the answer was sent to be the present.
  if (traced) observers.unshift(traced.observe);
  // One hook for all observers: each hook costs every request.
  app.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    for (const observe of observers) observe(request, reply, ms);
    done();
  });

  const operations = allOperations(options);
  const services = { ...options, ...(traced && { pims: traced.pims }), limits: new Limits() };
  await app.register(async (scope) => {
    for (const operation of operations) addOperation(scope, operation, services, admitByKey(services));
    addHealth(scope, options.state);
    addReference(scope, () => renderContract(operations, options.idempotencyMs));
  });
  await app.register((scope) => addDashboard(scope, services, operations));
  return app;
}

/** Loaded only when it is asked for. The last spans are sent when the app is closed. */
async function trace(
  { pims, log, clock }: AppOptions,
  system: NonNullable<AppOptions['tracing']>,
  app: FastifyInstance,
) {
  const { Tracing } = await import('./observe/tracing.ts');
  const tracing = new Tracing(system, log, clock);
  app.addHook('onClose', () => tracing.close());
  return {
    observe: tracing.observe,
    pims: async (tenant: Tenant, request?: FastifyRequest) => {
      const store = await pims(tenant);
      return request ? tracing.watch(store, request) : store;
    },
  };
}

/** What happens to requests that Fastify never sees. */
interface Early {
  /** Answers by status. */
  readonly answers: Map<number, number>;
  readonly connectionsEnded: Record<EndedFor, number>;
}

function measure({ state, requestLog, meter, ...options }: AppOptions, load: Load, ended: Early['connectionsEnded']) {
  return {
    ...options.measure(),
    usable: state.isUsable(),
    ready: whyNotReady(state) === undefined,
    inFlight: load.calls,
    refused: load.refused,
    connectionsEnded: ended,
    meteringFailures: meter.failures,
    requestLog,
  };
}

function createServer(
  { clock, keepAliveMs, trustedProxies, state }: AppOptions,
  load: Load,
  early: Early,
): FastifyInstance {
  const noteAnswer = (status: number): void => void early.answers.set(status, (early.answers.get(status) ?? 0) + 1);
  const onEnded = (reason: EndedFor): void => void early.connectionsEnded[reason]++;
  const newRequestId = (): string => nextRequestId(clock);
  const maxHeaderSize = URL_BYTES_MAX + HEADER_BYTES_MAX + 1024;
  // Ten times cheaper than Fastify's way, so that most of an overloaded service's time goes into calls it has taken.
  const refuse = (message: IncomingMessage, response: ServerResponse): boolean => {
    if (!load.isFull || !message.url!.startsWith(BASE_PATH)) return false;
    load.countRefusal();
    noteAnswer(503);
    answerBusy(message, response, newRequestId());
    return true;
  };
  const onClosed = (request: FastifyRequest): void => {
    state.inFlight--;
    load.closed(request);
  };
  return Fastify({
    genReqId: newRequestId,
    serverFactory: (handle) =>
      createConnectionServer(handle, { clock, maxHeaderSize, keepAliveMs, refuse, onClosed, onEnded }),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: URL_BYTES_MAX },
    ajv: { customOptions: AJV_OPTIONS },
    frameworkErrors: (_error, _request, reply) => {
      noteAnswer(400);
      return void answerUndecodable(reply);
    },
    clientErrorHandler: (error, socket) => {
      const status = answerMalformed(error, socket, newRequestId());
      if (status !== undefined) noteAnswer(status);
    },
  });
}

const boot = randomBytes(6).toString('base64url');
let lastId = 0;

/** The microsecond of the process: it tells nobody how many requests there are. The request log finds by its order. */
function nextRequestId(clock: Clock): string {
  lastId = Math.max(lastId + 1, Math.floor(clock.elapsed() * 1000));
  return `${boot}-${lastId.toString(36)}`;
}
