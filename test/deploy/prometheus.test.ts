/**
 * Runs a real Prometheus with the example of deploy/prometheus, at short intervals, beside a real service. Needs
 * Debian's package prometheus.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ownService, temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { PROMETHEUS, RULES } from './alert-watch.ts';

interface Panel {
  readonly targets?: readonly { readonly expr: string }[];
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Starts Prometheus with the example and another target. Resolves to the address of its API. */
async function startPrometheus(target: string): Promise<string> {
  const folder = temporaryFolder();
  const example = readFileSync(join(PROMETHEUS, 'prometheus.yaml'), 'utf8');
  const config = example.replaceAll('15s', '100ms').replace('127.0.0.1:8080', target);
  assert.notEqual(config, example);
  writeFileSync(join(folder, 'prometheus.yaml'), config);
  copyFileSync(RULES, join(folder, 'storeroom.rules.yaml'));
  const address = `127.0.0.1:${await findFreePort()}`;
  const words = [`--config.file=${folder}/prometheus.yaml`, `--storage.tsdb.path=${folder}/data`];
  const child = spawn('prometheus', [...words, `--web.listen-address=${address}`], { stdio: 'ignore' });
  const failed = once(child, 'spawn').catch(() =>
    assert.fail('This test runs prometheus (apt-get install prometheus).'),
  );
  after(() => child.kill('SIGKILL'));
  await failed;
  return `http://${address}/api/v1`;
}

test('Prometheus scrapes the service, evaluates every rule and answers every panel of the dashboard', async () => {
  const service = await ownService();
  const api = await startPrometheus(new URL(service.origin).host);
  const ask = async <T>(path: string): Promise<T | undefined> => {
    const response = await fetch(api + path).catch(() => undefined);
    // It answers 503 without JSON while it starts.
    return response && response.status !== 503 ? ((await response.json()) as T) : undefined;
  };
  const query = (expr: string) =>
    ask<{ status: string; error?: string; data: { result: { value: [number, string] }[] } }>(
      `/query?${new URLSearchParams({ query: expr }).toString()}`,
    );
  await until(async () => {
    const answer = await query('storeroom_ready{job="storeroom"} == 1 and up == 1');
    return answer?.data?.result.length === 1;
  });
  const rules = await ask<{ data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] } }>(
    '/rules',
  );
  const all = rules!.data.groups.flatMap((group) => group.rules);
  assert.ok(all.length > 10);
  await until(async () => {
    const now = await ask<typeof rules>('/rules');
    return now!.data.groups.every((group) => group.rules.every(({ health }) => health === 'ok'));
  });
  const { panels } = JSON.parse(readFileSync(join(PROMETHEUS, '../grafana/storeroom.json'), 'utf8')) as {
    panels: Panel[];
  };
  const variables: Record<string, string> = { job: 'storeroom', instance: '.*', __rate_interval: '10s' };
  for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
    const filled = expr.replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? assert.fail(name));
    const answer = await query(filled);
    assert.equal(answer?.status, 'success', `${expr}: ${answer?.error}`);
    assert.doesNotMatch(filled, /\$/);
  }
});
