/** Checks that the metrics in alert rules and Grafana's dashboard exist, and that alerts and runbooks match. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MEASURED } from '../../src/http/observe/readings.ts';
import { readMetrics } from '../kit/metrics.ts';
import { newDatabase } from '../kit/postgres.ts';
import { ownService, temporaryFolder } from '../kit/service.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const rules = read('deploy/prometheus/storeroom.rules.yaml');
const dashboard = read('deploy/grafana/storeroom.json');
const NAMES = /\b(storeroom|nodejs|process)_[a-z0-9_]+\b/g;

test('a service with one store or the other exports every metric of the rules and the dashboard', async () => {
  const services = await Promise.all([
    ownService({ place: temporaryFolder(), env: { STOREROOM_BACKUP_DIR: temporaryFolder() } }),
    ownService({ place: await newDatabase() }),
  ]);
  const told = new Set<string>();
  for (const service of services) {
    await fetch(`${service.origin}/healthz`);
    for (const { name } of (await readMetrics(service)).samples) told.add(name);
  }
  for (const text of [rules, dashboard])
    for (const [name] of text.matchAll(NAMES)) assert.ok(told.has(name), `no service tells ${name}`);
});

test('a health check has the operation that the rules and the dashboard leave out', async () => {
  const service = await ownService();
  for (const path of ['/healthz', '/readyz']) await fetch(service.origin + path);
  const { samples } = await readMetrics(service);
  const told = samples
    .filter(({ name }) => name === 'storeroom_requests_total')
    .map(({ labels }) => labels['operation']);
  for (const text of [rules, dashboard]) {
    const excluded = /operation!~\\?"([^"\\]+)/.exec(text)![1]!.split('|');
    assert.deepEqual(new Set(told), new Set(excluded));
  }
});

test('every measurement of readings.ts is shown in the dashboard', () => {
  for (const [name] of MEASURED) assert.ok(dashboard.includes(`${name}{`), name);
});

test('every alert has a severity, a summary, a description and a section in the runbooks, which has no others', () => {
  const alerts = rules.split(/\n {6}- alert: /).slice(1);
  const names = alerts.map((text) => /^\w+/.exec(text)![0]);
  for (const [at, text] of alerts.entries()) {
    const name = names[at]!;
    assert.match(text, /severity: (critical|warning)\n/, name);
    assert.match(text, /summary: .+\.\n/, name);
    assert.match(text, /description: .+\.'?\n/, name);
  }
  const sections = read('docs/runbooks.md').split(/^## /m).slice(1);
  assert.deepEqual(
    sections.map((section) => /^.+/.exec(section)![0]),
    names,
  );
  for (const section of sections)
    for (const part of [/\*\*Means\.\*\*/, /\*\*Diagnose(\.|, do\.)\*\*/, /\*\*(Do|Diagnose, do)\.\*\*/])
      assert.match(section, part);
});

test('each alert names its section of the runbooks by one absolute address, which the command in the file replaces', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'storeroom.rules.yaml');
  const addresses = (text: string): string[] => [...text.matchAll(/runbook_url: (.+)/g)].map(([, url]) => url!);
  const sections = [...read('docs/runbooks.md').matchAll(/^## (.+)$/gm)].map(([, name]) => name!.toLowerCase());
  const page = /^https:\/\/[^#]+/.exec(addresses(rules)[0]!)![0];
  assert.deepEqual(
    addresses(rules),
    sections.map((section) => `${page}#${section}`),
  );
  const command = /^# +(sed .+)$/m.exec(rules)![1]!;
  writeFileSync(file, rules);
  execFileSync('sh', ['-c', command.replace('https://YOUR-ADDRESS', 'http://wiki:8090/a/runbooks')], { cwd: folder });
  assert.deepEqual(
    addresses(readFileSync(file, 'utf8')),
    sections.map((section) => `http://wiki:8090/a/runbooks#${section}`),
  );
});
