/** Tests /metrics: names follow Prometheus's conventions, every answer is counted, and nothing grows with tenants. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { send } from '../kit/raw-http.ts';
import { ownService, STORE } from '../kit/service.ts';

const service = await ownService();

/** Maximum number of values of each label. None of these numbers grows with tenants, records or callers. */
const LABELS: Record<string, number> = {
  operation: 40,
  status: 40,
  le: 20,
  pool: 2,
  database: 4,
  reason: 2,
  // Labels of @prometheus-io/client.
  type: 20,
  space: 20,
  kind: 5,
  version: 2, // of Node and of Storeroom
  commit: 1,
  major: 1,
  minor: 1,
  patch: 1,
};

test('names, units, types and texts follow the conventions of Prometheus, and labels are bounded', async () => {
  const { families, samples } = await readMetrics(service);
  for (const [name, { type, help }] of families) {
    assert.match(name, /^(storeroom|process|nodejs)_[a-z0-9_]+$/);
    assert.equal(type === 'counter', name.endsWith('_total'), `${name} is a ${type}`);
    assert.doesNotMatch(name, /_(ms|milliseconds|minutes|hours|kb|mb|percent)(_|$)/, name);
    if (name.startsWith('storeroom_')) assert.match(help, /^[A-Z].*\.$/, `${name} is explained in a sentence`);
  }
  const values = new Map<string, Set<string>>();
  for (const { labels } of samples)
    for (const [label, value] of Object.entries(labels)) values.set(label, (values.get(label) ?? new Set()).add(value));
  for (const [label, seen] of values) assert.ok(seen.size <= LABELS[label]!, `${label} has ${seen.size} values`);
});

test('the metrics of the store are about the store in use', async () => {
  const { families } = await readMetrics(service);
  for (const name of ['disk_free_bytes', 'disk_size_bytes', 'disk_low_bytes', 'wal_bytes', 'open_tenants'])
    assert.equal(families.has(`storeroom_${name}`), STORE === 'sqlite', name);
  for (const name of ['connections', 'in_use', 'waiting'])
    assert.equal(families.has(`storeroom_database_pool_${name}`), STORE === 'postgres', name);
});

test('400 responses to requests that cannot be parsed or routed are counted like all others', async () => {
  assert.equal((await send(service.origin, 'this is no request\r\n\r\n')).status, 400);
  assert.equal((await fetch(`${service.origin}/%ZZ`)).status, 400);
  const { samples } = await readMetrics(service);
  assert.equal(sumOf(samples, 'storeroom_requests_total', { status: '400', operation: 'other' }), 2);
});
