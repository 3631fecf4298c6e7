/**
 * What stands beside the operations: health, readiness, metrics, the contract and its reference page. None of it needs credentials, is metered, or
 * names a tenant. The reference page works offline and is loaded when first asked for.
 */
import { createHash } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifySchema } from 'fastify';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { Refusal } from '../errors.ts';
import type { RequestLog } from '../request-log/request-log.ts';
import { JSON_TYPE } from './envelope.ts';
import { describeErrors } from './openapi.ts';
import { objectOf, textOf } from './schemas.ts';

export interface ServiceState {
  /** The store answers. */
  readonly isUsable: () => boolean;
  /** Set when the service is going to stop, so that a balancer sends no more. */
  stopping: boolean;
  /** Requests being worked on. */
  inFlight: number;
}

const stateAnswer = objectOf({ status: textOf() });
const TAKEN_MAX = 256;
const BEFORE_ANY_PATH = ['MALFORMED_REQUEST', 'URL_TOO_LONG', 'HEADERS_TOO_LARGE'];

/** `/healthz` answers 200 while the service can serve; `/readyz` also turns 503 once it is going to stop. */
export function addHealth(app: FastifyInstance, state: ServiceState): void {
  const add = (url: string, operationId: string, summary: string, isGood: () => boolean): void => {
    const errors = describeErrors((code) => BEFORE_ANY_PATH.includes(code));
    const cannot = {
      description: 'It cannot, or has more requests than it works on at the same time.',
      ...stateAnswer,
      additionalProperties: true,
    };
    const response = { 200: { description: 'It can.', ...stateAnswer }, ...errors, 503: cannot };
    const schema: FastifySchema = { tags: ['Service'], security: [], operationId, summary, response };
    app.get(url, { schema }, (_request, reply: FastifyReply) =>
      reply
        .type(JSON_TYPE)
        .code(isGood() ? 200 : 503)
        .send(isGood() ? '{"status":"ok"}' : '{"status":"unavailable"}'),
    );
  };
  add('/healthz', 'getHealth', 'Whether the service can serve', state.isUsable);
  add(
    '/readyz',
    'getReadiness',
    'Whether the service should be sent requests',
    () => !state.stopping && state.isUsable(),
  );
}

interface Series {
  readonly calls: Counter.Internal;
  readonly durations: Histogram.Internal<'operation'>;
}

/** Is told of every answer once it is out, and how long it took. */
export type AnswerObserver = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/** `/metrics` in the format of Prometheus: calls by operation and status, their durations, what the request log has lost, and the process. */
export function addMetrics(app: FastifyInstance, requestLog: RequestLog): AnswerObserver {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: 'storeroom_requests_total',
    help: 'Answered requests.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];
  const durations = new Histogram({
    name: 'storeroom_request_seconds',
    help: 'Time from the request line to the answer.',
    labelNames: ['operation'],
    buckets,
    registers: [registry],
  });
  const help = 'Requests that are in no log, because the store did not take them.';
  const lost = new Gauge({ name: 'storeroom_request_log_dropped', help, registers: [registry] });
  const known = new Map<string, Series>();
  // Taken down many at a time: in between an answer and the next request each would cost several times as much.
  let taken: { readonly series: Series; readonly ms: number }[] = [];
  const takeDown = (): void => {
    for (const { series, ms } of taken) {
      series.calls.inc();
      series.durations.observe(ms / 1000);
    }
    taken = [];
  };
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    takeDown();
    lost.set(requestLog.dropped);
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return ({ operation = 'other' }, { statusCode }, ms) => {
    const key = operation + statusCode;
    let series = known.get(key);
    if (!series)
      known.set(
        key,
        (series = { calls: calls.labels(operation, String(statusCode)), durations: durations.labels(operation) }),
      );
    if (taken.push({ series, ms }) >= TAKEN_MAX) takeDown();
  };
}

/** `/openapi.json`, and `/docs` with the reference page made from it. */
export function addReference(app: FastifyInstance, contract: () => object): void {
  let text: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    reply.type(JSON_TYPE).send((text ??= JSON.stringify(contract()))),
  );

  let pages: Promise<FastifyInstance> | undefined;
  const servePage = async (url: string, reply: FastifyReply): Promise<FastifyReply> => {
    const page = await (await (pages ??= openReference(contract))).inject({ url });
    if (page.statusCode === 404) throw new Refusal('UNKNOWN_PATH');
    for (const name of ['content-type', 'location'])
      if (page.headers[name]) reply.header(name, String(page.headers[name]));
    reply.header('content-security-policy', pagePolicy(page.headers['content-type'], page.body));
    return reply.code(page.statusCode).send(page.rawPayload);
  };
  for (const url of ['/docs', '/docs/*'])
    app.get(url, { schema: { hide: true } }, (request, reply: FastifyReply) => servePage(request.url, reply));
}

async function openReference(contract: () => object): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const pages = Fastify();
  await pages.register(reference, {
    routePrefix: '/docs',
    configuration: {
      content: contract() as Record<string, unknown>,
      pageTitle: 'Storeroom reference',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
    },
  });
  await pages.ready();
  return pages;
}

/** Allows the scripts of the page itself by their hashes; the page sets styles while it runs, so those have to be allowed as they come. */
function pagePolicy(type: unknown, html: string): string {
  const scripts = String(type).startsWith('text/html')
    ? [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)]
    : [];
  const hashes = scripts
    .map(
      ([, script]) =>
        `'sha256-${createHash('sha256')
          .update(script ?? '')
          .digest('base64')}'`,
    )
    .join(' ');
  return `default-src 'none'; script-src 'self' ${hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'`;
}
