/**
 * Begin here: the HTTP service, a Fastify server with the operations, the dashboard and the paths of the service
 * itself. It opens no store and no port. call/stages.ts shows the stages of a call.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { NodeParts } from '../administration/action.ts';
import type { Readings } from '../administration/readings.ts';
import type { Refusal } from '../errors.ts';
import { Limits } from '../tenant/calls.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { RejectedCalls } from '../tenant/credentials.ts';
import { accessByKey } from './call/admit.ts';
import type { AnswerLimits } from './operations/cursor.ts';
import {
  answerBusy,
  answerError,
  answerMalformed,
  answerUndecodable,
  answerUnknownPath,
} from './call/error-answers.ts';
import { addOperation } from './call/stages.ts';
import { addReference, loadContract } from './contract/contract.ts';
import { addDashboard } from './dashboard/dashboard.ts';
import type { DashboardServices } from './dashboard/typed-route.ts';
import { logFaults, observeCalls, observeRequests } from './observe/observers.ts';
import { addHealth, whyNotReady } from './observe/health.ts';
import { BASE_PATH } from './server/protocol.ts';
import { addMetrics } from './observe/metrics.ts';
import { allOperations } from './operations/operations.ts';
import {
  addReceiving,
  BODY_BYTES_MAX,
  HEADER_BYTES_MAX,
  makeRequestIds,
  readBody,
  refuseOtherHosts,
  URL_BYTES_MAX,
  type ServiceState,
} from './server/receive.ts';
import { createConnectionServer, type EndedFor } from './server/connections.ts';
import { ServiceLoad, type LoadLimits } from './server/load.ts';

export interface AppOptions
  extends
    Omit<DashboardServices, 'limits' | 'logCounts' | 'rejectedCalls' | 'node' | 'placeOf'>,
    Pick<NodeParts, 'backUp'>,
    AnswerLimits,
    LoadLimits {
  readonly state: ServiceState;
  readonly keepAliveMs: number;
  readonly log: FastifyBaseLogger;
  readonly trustedProxies: readonly string[];
  /** Whether every request is logged, and not only faults. */
  readonly logRequests: boolean;
  readonly metrics: boolean;
  /** The store's name in traces, if they are switched on. */
  readonly tracing: 'sqlite' | 'postgresql' | undefined;
  /** Reads the values of /metrics that the app does not know. */
  readonly measure: () => Pick<Readings, 'store' | 'disk' | 'backup' | 'webhooks'>;
}

const AJV_OPTIONS = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allowUnionTypes: true,
  // Checking schemas and optimizing their code slow down every start more than they help, because the schemas are our
  // own and V8 optimizes code that runs often.
  validateSchema: false,
  code: { optimize: false },
};

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { clock, log, state, meter, requestLog } = options;
  const load = new ServiceLoad(options, log, clock, state.ending.signal);
  /** The number of responses, by status, to requests for which Fastify runs no hooks. */
  const earlyAnswers = new Map<number, number>();
  const connectionsEnded: Record<EndedFor, number> = { pipeline: 0, untaken: 0 };
  const takeReadings = (): Readings => ({
    ...options.measure(),
    usable: state.isUsable(),
    ready: whyNotReady(state) === undefined,
    inFlight: load.calls,
    waiting: load.waiting,
    refused: load.refused,
    connectionsEnded,
    meteringFailures: meter.failures,
    requestLog,
  });
  const app = createServer(options, load, {
    onAnswered: (status) => void earlyAnswers.set(status, (earlyAnswers.get(status) ?? 0) + 1),
    onEnded: (reason) => void connectionsEnded[reason]++,
  });
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => void methods.getOrInsertComputed(url, () => []).push(...[method].flat()));
  const operations = allOperations(options);
  addReceiving(app, state, load, (reply) => void answerUnknownPath(reply, methods, operations));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', readBody);
  const noteFault = logFaults(log, clock);
  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => answerError(error, reply, noteFault));

  const observers = [observeCalls(requestLog)];
  if (options.metrics)
    observers.push(addMetrics(app, clock, takeReadings, earlyAnswers, refuseOtherHosts(options.publicUrl)));
  if (options.logRequests) observers.push(observeRequests(log));
  const traced = options.tracing && (await trace(options, options.tracing, app));
  // The observer for traces is first, because it takes the time at which it runs as the time of the response.
  if (traced) observers.unshift(traced.observe);
  // All observers share one hook, because each hook slows down every request.
  app.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    for (const observe of observers) observe(request, reply, ms);
    done();
  });

  const services = {
    ...options,
    ...(traced && { pims: traced.pims }),
    limits: new Limits(),
    rejectedCalls: new RejectedCalls(),
    logCounts: options.requests,
    node: { startedAt: clock.elapsed(), readings: takeReadings, backUp: options.backUp },
  };
  await app.register(async (scope) => {
    for (const operation of operations) addOperation(scope, operation, services, accessByKey(services));
    addHealth(scope, state);
    addReference(scope, () => loadContract(options, options.idempotencyMs));
  });
  await app.register((scope) => addDashboard(scope, services, operations));
  return app;
}

/** Loads tracing.ts only for services with traces. The last spans are sent when the app is closed. */
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

interface EarlyEvents {
  /** Called for each response to a request for which Fastify runs no hooks. */
  readonly onAnswered: (status: number) => void;
  readonly onEnded: (reason: EndedFor) => void;
}

function createServer(
  { clock, keepAliveMs, trustedProxies, state }: AppOptions,
  load: ServiceLoad,
  { onAnswered, onEnded }: EarlyEvents,
): FastifyInstance {
  const newRequestId = makeRequestIds(clock);
  const maxHeaderSize = URL_BYTES_MAX + HEADER_BYTES_MAX + 1024;
  // A refusal here is ten times cheaper than one by Fastify, so that an overloaded service spends most of its time on
  // calls in flight.
  const refuseWhenFull = (message: IncomingMessage, response: ServerResponse): boolean => {
    if (!load.isFull || !message.url!.startsWith(BASE_PATH)) return false;
    load.countRefusal();
    onAnswered(503);
    answerBusy(message, response, newRequestId());
    return true;
  };
  const onClosed = (request: FastifyRequest) => {
    state.inFlight--;
    load.closed(request);
  };
  return Fastify({
    genReqId: newRequestId,
    serverFactory: (handle) =>
      createConnectionServer(handle, { clock, maxHeaderSize, keepAliveMs, refuseWhenFull, onClosed, onEnded }),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: URL_BYTES_MAX },
    ajv: { customOptions: AJV_OPTIONS },
    frameworkErrors: (_error, _request, reply) => {
      onAnswered(400);
      return void answerUndecodable(reply);
    },
    clientErrorHandler: (error, socket) => {
      const status = answerMalformed(error, socket, newRequestId());
      if (status !== undefined) onAnswered(status);
    },
  });
}
