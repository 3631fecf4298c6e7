/** `/metrics` in the format of Prometheus. It needs no credentials and names no tenant. */
import type { FastifyInstance } from 'fastify';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { RequestLog } from '../request-log/request-log.ts';
import type { Load } from './load.ts';
import type { AnswerObserver } from './observers.ts';

const TAKEN_MAX = 256;

const CALLS = { name: 'storeroom_requests_total', help: 'Answered requests.', labelNames: ['operation', 'status'] };
const DURATIONS = {
  name: 'storeroom_request_seconds',
  help: 'Time from the request line to the answer.',
  labelNames: ['operation'],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
};
const LOST = {
  name: 'storeroom_request_log_dropped',
  help: 'Requests that are in no log, because the store did not take them.',
};
const BEYOND_RATE = {
  name: 'storeroom_request_log_beyond_rate',
  help: 'Requests that are in no log, because their tenant made more in a second than it may log.',
};
const DISK = { name: 'storeroom_disk_free_bytes', help: 'Free bytes of the disk of the embedded store.' };

const REFUSED = { name: 'storeroom_overload_refusals', help: 'Requests refused with 503 SERVICE_BUSY.' };

interface Series {
  readonly calls: Counter.Internal;
  readonly durations: Histogram.Internal<'operation'>;
}

/** Calls by operation and status, their durations, what the request log left out, refusals, the disk, the process. */
export function addMetrics(
  app: FastifyInstance,
  requestLog: RequestLog,
  load: Load,
  diskFree: () => number | undefined,
): AnswerObserver {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const calls = new Counter({ ...CALLS, registers });
  const durations = new Histogram({ ...DURATIONS, registers });
  const lost = new Gauge({ ...LOST, registers });
  const beyondRate = new Gauge({ ...BEYOND_RATE, registers });
  const disk = diskFree() === undefined ? undefined : new Gauge({ ...DISK, registers });
  const refused = new Gauge({ ...REFUSED, registers });
  const known = new Map<string, Series>();
  // Observed many at a time: one by one, between an answer and the next request, each costs several times as much.
  let taken: { readonly series: Series; readonly ms: number }[] = [];
  const observeTaken = (): void => {
    for (const { series, ms } of taken) {
      series.calls.inc();
      series.durations.observe(ms / 1000);
    }
    taken = [];
  };
  app.get('/metrics', { exposeHeadRoute: true }, async (_request, reply) => {
    observeTaken();
    lost.set(requestLog.dropped);
    beyondRate.set(requestLog.beyondRate);
    disk?.set(diskFree() ?? 0);
    refused.set(load.refused);
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return ({ operation = 'other' }, { statusCode }, ms) => {
    const key = operation + statusCode;
    let series = known.get(key);
    if (!series) {
      series = { calls: calls.labels(operation, String(statusCode)), durations: durations.labels(operation) };
      known.set(key, series);
    }
    if (taken.push({ series, ms }) >= TAKEN_MAX) observeTaken();
  };
}
