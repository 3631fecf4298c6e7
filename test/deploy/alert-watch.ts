/**
 * Scrapes the real /metrics of a service into series, faster than Prometheus would, and asks promtool which alerts fire
 * on them, with the shipped rules of deploy/prometheus. Needs Debian's package prometheus.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { now } from '../kit/clock.ts';
import { readMetrics, type Metrics } from '../kit/metrics.ts';
import { temporaryFolder, type Service } from '../kit/service.ts';

export const PROMETHEUS = join(import.meta.dirname, '../../deploy/prometheus');
export const RULES = join(PROMETHEUS, 'storeroom.rules.yaml');
/** Seconds between two scrapes on the clock of the rules, as in deploy/prometheus/prometheus.yaml. */
const STEP_S = 15;
/** Numbers of scrapes before the cause and during it. Within 30 scrapes, an alert fires that waits for five minutes. */
export const BEFORE = 10;
export const DURING = 30;
/** Metrics that the rules use. */
const WATCHED = new Set(readFileSync(RULES, 'utf8').match(/\b(storeroom|nodejs|process)_[a-z0-9_]+/g));

/** Runs promtool. Returns what it printed, and whether it found no fault. */
export function runPromtool(words: readonly string[], input = ''): { isContent: boolean; text: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { encoding: 'utf8', input });
  assert.equal(error, undefined, 'This test runs promtool (Debian: apt-get install prometheus).');
  return { isContent: status === 0, text: stdout + stderr };
}

export class AlertWatch {
  /** The value of each series at each scrape, with a hole where it had none. */
  readonly #series = new Map<string, (number | undefined)[]>();
  readonly #begunAt = now() / 1000;
  #scrapes = 0;

  /** Scrapes the service `times` times. Before each scrape, `work` causes what is watched. */
  async look(service: Pick<Service, 'origin'>, times: number, work?: () => unknown): Promise<void> {
    for (let time = 0; time < times; time++) {
      await work?.();
      const metrics = await readMetrics(service).catch(() => undefined);
      this.#note('up', metrics ? 1 : 0);
      if (metrics) this.#noteAll(metrics);
      this.#scrapes++;
    }
  }

  /** Fails unless the alert is silent now: it neither fires nor is pending. */
  expectSilent(alert: string): void {
    this.#expect(`ALERTS{alertname="${alert}"}`, []);
  }

  expectFiring(alert: string): void {
    this.#expect(`count(ALERTS{alertname="${alert}", alertstate="firing"})`, [{ labels: '{}', value: 1 }]);
  }

  #noteAll({ samples }: Metrics): void {
    for (const { name, labels, value } of samples) {
      if (!WATCHED.has(name)) continue;
      const all = Object.entries(labels).map(([label, text]) => `, ${label}="${text}"`);
      this.#note(name, name.endsWith('_timestamp_seconds') ? value - this.#begunAt : value, all.join(''));
    }
  }

  #note(name: string, value: number, labels = ''): void {
    const key = `${name}{instance="node:8080", job="storeroom"${labels}}`;
    const values = this.#series.get(key) ?? [];
    this.#series.set(key, values);
    values[this.#scrapes] = value;
  }

  /** Fails unless the expression has these values at the last scrape. The test file is JSON, which is also YAML. */
  #expect(expr: string, samples: readonly object[]): void {
    const series = [...this.#series].map(([key, values]) => ({
      series: key,
      values: Array.from({ length: this.#scrapes }, (_, at) => formatValue(values[at], values[at - 1])).join(' '),
    }));
    const test = { expr, eval_time: `${(this.#scrapes - 1) * STEP_S}s`, exp_samples: samples };
    const tests = [{ interval: `${STEP_S}s`, input_series: series, promql_expr_test: [test] }];
    const file = join(temporaryFolder(), 'test.yaml');
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: `${STEP_S}s`, tests }));
    const { isContent, text } = runPromtool(['test', 'rules', file]);
    assert.ok(isContent, text);
  }
}

/** Formats a value for promtool. A series ends when the process that it belongs to ends. */
const formatValue = (value: number | undefined, before: number | undefined): string =>
  value === undefined ? (before === undefined ? '_' : 'stale') : value.toFixed(6);
