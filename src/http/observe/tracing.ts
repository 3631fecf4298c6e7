/**
 * Traces for OpenTelemetry: a span for each request, and below it one for each call of the store. This module is loaded
 * only if OpenTelemetry's standard variables enable traces. Its packages read the variables. Source: decision 0056.
 */
import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Span } from '@opentelemetry/api';
import { millisToHrTime, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import { VERSION } from '../../assets.ts';
import type { PimsStore } from '../../pims/pims-port.ts';

/** Work for a request, with times in milliseconds since 1970. */
interface TracedWork {
  readonly name: string;
  readonly begunAt: number;
  endedAt: number;
  hasFailed: boolean;
}

/** Paths that are requested every few seconds and whose traces are useless. */
const UNTRACED = ['/healthz', '/readyz', '/metrics'];
/** Maximum milliseconds between two readings of the clock. */
const READ_MS = 0.5;
/** Maximum milliseconds for sending the last spans when the service stops. */
const CLOSE_MS = 2000;
/** Milliseconds between two log lines about spans that could not be sent. */
const REPORT_MS = 60_000;

/** Reads the caller's trace. `tracestate` can contain anything, also secrets, and is sent with every span. */
const headerOf = {
  get: ({ traceparent }: FastifyRequest['headers'], name: string) => (name === 'traceparent' ? traceparent : undefined),
  keys: () => ['traceparent'],
};

export class Tracing {
  readonly #system: 'sqlite' | 'postgresql';
  readonly #clock: Clock;
  /** Milliseconds since 1970, with fractions, at which the clock's elapsed time began. */
  readonly #beganAt: number;
  readonly #provider: BasicTracerProvider;
  readonly #propagator = new W3CTraceContextPropagator();
  readonly #work = new WeakMap<FastifyRequest, TracedWork[]>();

  constructor(system: 'sqlite' | 'postgresql', log: FastifyBaseLogger, clock: Clock) {
    this.#system = system;
    this.#clock = clock;
    this.#beganAt = findBeginning(clock);
    reportTo(log, clock);
    const own = resourceFromAttributes({ 'service.name': 'storeroom', 'service.version': VERSION });
    this.#provider = new BasicTracerProvider({
      // The variables take precedence over these attributes.
      resource: own.merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
  }

  /** Wraps the store so that its calls, and the wait for the count, become spans of the request. */
  watch(store: PimsStore, request: FastifyRequest): PimsStore {
    const all: TracedWork[] = [];
    this.#work.set(request, all);
    const beginWork = (name: string, result: unknown) => {
      const begunAt = this.#now();
      const work: TracedWork = { name, begunAt, endedAt: begunAt, hasFailed: false };
      all.push(work);
      if (!(result instanceof Promise)) return;
      const end = (hasFailed: boolean) => void Object.assign(work, { endedAt: this.#now(), hasFailed });
      result.then(
        () => end(false),
        () => end(true),
      );
    };
    if (request.counted) beginWork('usage.count', request.counted.monthRequests());
    return new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...words: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, target, words);
          beginWork(`pims.${String(name)}`, result);
          return result;
        };
      },
    });
  }

  /** Creates the spans of a request after its response, so that they do not slow it down. */
  readonly observe = (request: FastifyRequest, { statusCode }: FastifyReply, ms: number): void => {
    const route = request.routeOptions.url;
    if (route !== undefined && UNTRACED.includes(route)) return;
    const endedAt = this.#now();
    const parent = this.#propagator.extract(ROOT_CONTEXT, request.headers, headerOf);
    const tracer = this.#provider.getTracer('storeroom', VERSION);
    const { method, refusal, operation, tenant } = request;
    const attributes = {
      'http.request.method': method,
      'http.response.status_code': statusCode,
      'storeroom.request_id': request.id,
      ...(route !== undefined && { 'http.route': route }),
      ...(operation !== undefined && { 'storeroom.operation': operation }),
      ...(tenant && { 'storeroom.team_id': tenant.teamId }),
      ...(refusal && { 'error.type': refusal.code }),
    };
    const name = route === undefined ? method : `${method} ${route}`;
    const span = tracer.startSpan(
      name,
      { kind: SpanKind.SERVER, startTime: millisToHrTime(endedAt - ms), attributes },
      parent,
    );
    if (span.isRecording()) {
      const within = trace.setSpan(parent, span);
      const kind = this.#system === 'postgresql' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      for (const { name: of, begunAt, endedAt: end, hasFailed } of this.#work.get(request) ?? []) {
        const options = { kind, startTime: millisToHrTime(begunAt), attributes: { 'db.system.name': this.#system } };
        endSpan(tracer.startSpan(of, options, within), hasFailed, end);
      }
    }
    endSpan(span, statusCode >= 500, endedAt);
  };

  #now(): number {
    return this.#beganAt + this.#clock.elapsed();
  }

  /** Sends the remaining spans, or gives up. */
  async close(): Promise<void> {
    const givenUp = new Promise<void>((resolve) => void this.#clock.after(CLOSE_MS, resolve));
    await Promise.race([this.#provider.shutdown().catch(() => undefined), givenUp]);
  }
}

function endSpan(span: Span, hasFailed: boolean, endedAt: number) {
  if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(millisToHrTime(endedAt));
}

/** Returns the difference of the clock's two times. Reads them again if the process was held in between. */
function findBeginning({ now, elapsed }: Clock): number {
  for (;;) {
    const before = elapsed();
    const at = now();
    if (elapsed() - before < READ_MS) return at - before;
  }
}

/** Logs at most a line a minute about spans that could not be sent. */
function reportTo(log: FastifyBaseLogger, { elapsed }: Clock) {
  let reportedAt = -Infinity;
  const reportTraces = (message: string) => {
    if (elapsed() - reportedAt < REPORT_MS) return;
    reportedAt = elapsed();
    log.warn({ reason: message.slice(0, 300) }, 'Traces cannot be sent');
  };
  const silent = () => undefined;
  const logger = { error: reportTraces, warn: reportTraces, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
