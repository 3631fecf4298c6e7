/** `storeroom health`, which containers and systemd ask: its exit code is what /healthz and /readyz answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { suite, test } from 'node:test';
import { ownService, runCommand, temporaryFolder } from '../kit/service.ts';

const ask = (port: string, ...words: string[]) =>
  runCommand(temporaryFolder(), ['health', '--json', ...words], { env: { STOREROOM_PORT: port } });

suite('storeroom health', async () => {
  const service = await ownService({ keepsPort: true, env: { STOREROOM_DRAIN_MS: '60000' } });
  const { port } = new URL(service.origin);

  test('exits with 0 while the service is well', async () => {
    for (const words of [[], ['--ready']]) {
      const { code, json } = await ask(port, ...words);
      assert.deepEqual([code, json().ok], [0, true]);
    }
  });

  test('tells a service that is stopping from one that is ready', async () => {
    process.kill(service.pid, 'SIGTERM');
    await service.said((output) => output.includes('Stopping'));
    const { code, stdout } = await ask(port, '--ready');
    assert.equal(code, 1);
    assert.match(stdout, /503/);
    assert.equal((await ask(port)).code, 0);
  });

  test('exits with 1 once nothing answers', async () => {
    await service.stop('SIGKILL');
    const { code, json } = await ask(port);
    assert.deepEqual([code, json().ok, json().answer], [1, false, 'no answer (ECONNREFUSED)']);
  });

  test('waits as long as it is told for a service that is starting', async () => {
    const deaf = createServer((socket) => socket.destroy()).listen(Number(port), '127.0.0.1');
    const asking = ask(port, '--ready', '--wait', '3600');
    await once(deaf, 'connection');
    deaf.close();
    await once(deaf, 'close');
    await service.restart();
    assert.equal((await asking).code, 0);
    await service.stop('SIGKILL'); // it would drain
  });
});
