/** `/metrics` in the format of Prometheus. It needs no credentials and names no tenant. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from '@prometheus-io/client';
import { COMMIT, VERSION } from '../../assets.ts';
import type { Readings } from '../../administration/readings.ts';
import type { Clock } from '../../clock.ts';
import type { AnswerObserver } from './observers.ts';
import { findReading, MEASURED } from './readings.ts';

const TAKEN_MAX = 256;

const CALLS = {
  name: 'storeroom_requests_total',
  help: 'Requests that were answered.',
  labelNames: ['operation', 'status'],
};
const DURATIONS = {
  name: 'storeroom_request_duration_seconds',
  help: 'Time from the headers of the request to the end of the response.',
  labelNames: ['operation'],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
};
/** The package's own metric has whole seconds, so two starts within one second would look like one. */
const STARTED = { name: 'process_start_time_seconds', help: 'Start time of the process since unix epoch in seconds.' };
/**
 * Metrics of the package that are replaced, break the conventions of Prometheus (the name of a gauge never ends with
 * `_total`), or duplicate others.
 */
const LEFT_OUT = [
  STARTED.name,
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
];
const BUILD = { name: 'storeroom_build_info', help: 'Always 1; the labels say which build runs.' };

interface Series {
  readonly calls: Counter.Internal;
  readonly durations: Histogram.Internal<'operation'>;
}

/**
 * Registers the build, calls by operation and status, their durations, what readings.ts lists, and the process.
 * `answeredEarly` counts, by status, responses to requests for which Fastify runs no hooks.
 */
export function addMetrics(
  app: FastifyInstance,
  clock: Clock,
  measure: () => Readings,
  answeredEarly: Map<number, number>,
  onRequest: onRequestAsyncHookHandler,
): AnswerObserver {
  const registry = new Registry();
  // The utilization of the event loop is left out, so its samples are as rare as possible.
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: 2 ** 31 - 1 });
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  const registers = [registry];
  const build = { version: VERSION, ...(COMMIT !== undefined && { commit: COMMIT }) };
  new Gauge({ ...BUILD, labelNames: Object.keys(build), registers }).set(build, 1);
  new Gauge({ ...STARTED, registers }).set(clock.now() / 1000 - process.uptime());
  const calls = new Counter({ ...CALLS, registers });
  const durations = new Histogram({ ...DURATIONS, registers });
  const showReadings = addReadings(registry, measure());
  const known = new Map<string, Series>();
  // Durations are observed many at a time, because a single observation between a response and the next request takes
  // several times as long.
  let taken: { readonly series: Series; readonly ms: number }[] = [];
  const observeTaken = () => {
    for (const { series, ms } of taken) {
      series.calls.inc();
      series.durations.observe(ms / 1000);
    }
    taken = [];
  };
  app.get('/metrics', { exposeHeadRoute: true, onRequest }, async (_request, reply) => {
    observeTaken();
    for (const [status, count] of answeredEarly) calls.labels('other', String(status)).inc(count);
    answeredEarly.clear();
    showReadings(measure());
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return ({ operation = 'other' }, { statusCode }, ms) => {
    const labelSeries = () => ({
      calls: calls.labels(operation, String(statusCode)),
      durations: durations.labels(operation),
    });
    const series = known.getOrInsertComputed(operation + statusCode, labelSeries);
    if (taken.push({ series, ms }) >= TAKEN_MAX) observeTaken();
  };
}

/** Registers the readings that exist on this node. Returns a function that shows new values of them. */
function addReadings(registry: Registry, first: Readings): (readings: Readings) => void {
  const shown = MEASURED.filter((row) => findReading(first, row) !== undefined).map((row) => {
    const [name, help, , label] = row;
    const options = { name, help, labelNames: label === undefined ? [] : [label], registers: [registry] };
    return { row, metric: name.endsWith('_total') ? new Counter(options) : new Gauge(options) };
  });
  return (readings) => {
    for (const { row, metric } of shown) {
      const value = findReading(readings, row)!;
      metric.reset();
      if (typeof value === 'number') metric.inc(value);
      else for (const [of, part] of Object.entries(value)) metric.inc({ [String(row[3])]: of }, part);
    }
  };
}
