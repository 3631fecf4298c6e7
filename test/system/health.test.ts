/**
 * Tests `storeroom health`, which containers run: its exit code follows /healthz and /readyz. Also tests a node that
 * cannot count: it refuses all calls and writes nothing, so it is not ready.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { times } from '../kit/lists.ts';
import { createOrder } from '../kit/orders.ts';
import { ownService, runCommand, temporaryFolder, type Service } from '../kit/service.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';

const ask = (port: string, ...words: string[]) =>
  runCommand(temporaryFolder(), ['health', '--json', ...words], { env: { STOREROOM_PORT: port } });

suite('storeroom health', async () => {
  const service = await ownService({ env: { STOREROOM_DRAIN_MS: '60000' } });
  const { port } = new URL(service.origin);

  test('exits with 0 while the service works', async () => {
    for (const words of [[], ['--ready']]) {
      const { code, json } = await ask(port, ...words);
      assert.deepEqual([code, json().ok], [0, true]);
    }
  });

  test('distinguishes a service that is stopping from one that is ready', async () => {
    process.kill(service.pid, 'SIGTERM');
    await service.said((output) => output.includes('Stopping'));
    const { code, stdout } = await ask(port, '--ready');
    assert.equal(code, 1);
    assert.match(stdout, /503/);
    assert.equal((await ask(port)).code, 0);
  });

  test('exits with 1 once no service responds', async () => {
    await service.stop('SIGKILL');
    const { code, json } = await ask(port);
    assert.deepEqual([code, json().ok, json().answer], [1, false, 'no answer (ECONNREFUSED)']);
  });
});

/** Makes a store accept no counts until the returned function is called. */
const HOLDS: Record<string, (place: string) => Promise<() => Promise<unknown>>> = {
  async SQLite(place) {
    const usage = new DatabaseSync(join(place, 'usage.db'));
    usage.exec('BEGIN IMMEDIATE');
    return async () => usage.close();
  },
  async PostgreSQL(place) {
    const table = 'storeroom."USAGE"';
    await runStatement(place, `ALTER TABLE ${table} RENAME TO "USAGE_HELD"`);
    return () => runStatement(place, 'ALTER TABLE storeroom."USAGE_HELD" RENAME TO "USAGE"');
  },
};

/** Counts the orders by a command, which is not metered. */
async function countOrders(service: Service): Promise<number> {
  const { code, stdout, stderr } = await service.command('export', 'shop', 'orders');
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n').length - 1;
}

// With SQLite, each of four waits for the file takes five seconds.
for (const [name, hold] of Object.entries(HOLDS).filter(([store]) => IS_THOROUGH || store === 'PostgreSQL'))
  test(`a node whose calls cannot be counted is not ready, and says why, until they can: ${name}`, async () => {
    const service = await ownService({ place: name === 'SQLite' ? temporaryFolder() : await newDatabase() });
    const keys = await service.makeTenant('shop');
    const readiness = async () => (await fetch(`${service.origin}/readyz`)).text();
    assert.equal((await createOrder(service, keys)).status, 200);
    assert.equal(await readiness(), '{"status":"ok"}');
    const release = await hold(service.place);
    const calls = await Promise.all(times(20, () => createOrder(service, keys)));
    for (const { status } of calls) assert.ok(status >= 500);
    assert.equal(await readiness(), '{"status":"unavailable","reason":"counting"}');
    assert.equal((await fetch(`${service.origin}/healthz`)).status, 200);
    // PostgreSQL writes and counts side by side, so the first writes may have been committed.
    const before = name === 'SQLite' ? 1 : await countOrders(service);
    const later = await Promise.all(times(20, () => createOrder(service, keys)));
    for (const { status } of later) assert.ok(status >= 500);
    assert.equal(await countOrders(service), before, 'no write is committed whose call is not counted');
    await release();
    await until(async () => (await readiness()) === '{"status":"ok"}');
    assert.equal((await createOrder(service, keys)).status, 200);
    assert.equal(await countOrders(service), before + 1);
    await service.said((output) => output.includes('counted again'));
    const lines = service.output.split('\n').filter((line) => line.startsWith('{'));
    const told = (text: string): number => lines.filter((line) => line.includes(text)).length;
    assert.deepEqual(
      [told('Calls cannot be counted, so the service refuses them until it can count again: '), told('counted again')],
      [1, 1],
    );
    const refused = lines.filter((line) => line.includes('"path":"/tenant/api/pims/v1/orders/create"'));
    assert.match(
      refused[0]!,
      /"method":"PUT",.*"httpStatus":50\d,"code":"\w+","operation":"createOrder","teamId":"shop","apiId":"/,
    );
    assert.ok(refused.length < 10, 'a line a second, not one a call');
  });
