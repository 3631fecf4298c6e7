/** `storeroom health`, which containers and systemd ask: its exit code is what /healthz and /readyz answer. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ownService, runCommand, temporaryFolder } from '../kit/service.ts';
import { waitUntil } from '../kit/wait.ts';

const ask = (port: string, ...words: string[]) =>
  runCommand(temporaryFolder(), ['health', '--json', ...words], { env: { STOREROOM_PORT: port } });

suite('storeroom health', () => {
  test('exits with 0 while the service is well, and with 1 once nothing answers', async () => {
    const service = await ownService();
    const { port } = new URL(service.origin);
    for (const words of [[], ['--ready']]) {
      const { code, json } = await ask(port, ...words);
      assert.deepEqual([code, json().ok], [0, true]);
    }
    await service.stop();
    const { code, json } = await ask(port);
    assert.deepEqual([code, json().ok, json().answer], [1, false, 'no answer (ECONNREFUSED)']);
  });

  test('tells a service that is stopping from one that is ready', async () => {
    const service = await ownService({ env: { STOREROOM_DRAIN_MS: '60000' } });
    const { port } = new URL(service.origin);
    process.kill(service.pid, 'SIGTERM');
    await waitUntil(10_000, 'still ready', async () => (await ask(port, '--ready')).code === 1);
    const { stdout } = await ask(port, '--ready');
    assert.match(stdout, /503/);
    assert.equal((await ask(port)).code, 0);
    await service.stop('SIGKILL');
  });

  test('waits as long as it is told for a service that is starting', async () => {
    const service = await ownService({ keepsPort: true });
    const { port } = new URL(service.origin);
    await service.stop();
    const asking = ask(port, '--ready', '--wait', '30');
    await service.restart();
    assert.equal((await asking).code, 0);
  });
});
