/** Reads the metrics of /metrics: families with their type and text, and samples. */
import assert from 'node:assert/strict';
import type { Service } from './service.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metrics {
  readonly text: string;
  readonly families: ReadonlyMap<string, { readonly type: string; readonly help: string }>;
  readonly samples: readonly Sample[];
}

export async function readMetrics({ origin }: Pick<Service, 'origin'>): Promise<Metrics> {
  const response = await fetch(`${origin}/metrics`);
  assert.equal(response.status, 200);
  return parseMetrics(await response.text());
}

function parseMetrics(text: string): Metrics {
  const families = new Map<string, { type: string; help: string }>();
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, what, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (what === 'HELP') families.set(name, { type: '', help: rest });
    else if (what === 'TYPE') families.get(name)!.type = rest;
    else if (line !== '') samples.push(parseSample(line));
  }
  return { text, families, samples };
}

function parseSample(line: string): Sample {
  const [, name = '', list = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  assert.notEqual(name, '', line);
  const labels = Object.fromEntries(
    [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label!, text!]),
  );
  return { name, labels, value: Number(value!.replace('+Inf', 'Infinity')) };
}

/** Returns the sum of the samples with this name and these labels, or undefined if there are none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
