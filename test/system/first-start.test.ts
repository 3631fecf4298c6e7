/** What a service says when it starts: the next step where there is no tenant, and what is open to others. */
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { describeExposure } from '../../src/cli/listen.ts';
import { runCommand, Service, STORE } from '../kit/service.ts';
import { waitUntil } from '../kit/wait.ts';

async function start(context: TestContext, env: Record<string, string> = {}): Promise<Service> {
  const service = await Service.start({ env });
  context.after(() => service.stop('SIGKILL'));
  return service;
}

test('without a tenant the commands that make one are told, and they work; with one they are not', async (context) => {
  const service = await start(context);
  const told = service.output;
  assert.match(
    told,
    STORE === 'postgres' ? /made in the embedded store alone.*STOREROOM_DATABASE_URL/ : /STOREROOM_DATA /,
  );
  const commands = [...told.matchAll(/^ {2}storeroom (.*?)(?: {2}.*)?$/gm)].map(([, command]) => command!);
  assert.equal(commands.length, 3, told);
  for (const command of commands) {
    const { code, stderr } = await runCommand(service.place, command.split(' '));
    assert.equal(`${code} ${stderr}`, '0 ', command);
  }
  await service.stop();
  await service.restart();
  assert.doesNotMatch(service.output.slice(told.length), /no tenant/);
});

suite('an address that others reach without TLS', () => {
  test('is warned of once at the start, with what to do', async (context) => {
    const service = await start(context, { STOREROOM_HOST: '0.0.0.0' });
    await waitUntil(10_000, 'nothing is warned of', () => service.output.includes('without TLS'));
    assert.equal(service.output.match(/without TLS/g)?.length, 1);
    assert.match(service.output, /"level":40.*STOREROOM_PUBLIC_URL.*STOREROOM_TRUSTED_PROXIES.*127\.0\.0\.1/);
  });

  const HOSTS = { '0.0.0.0': true, '::': true, '10.0.0.1': true, 'box.local': true };
  const LOOPBACKS = { '127.0.0.1': false, '127.1.2.3': false, '::1': false, localhost: false };
  test('is none of this machine alone, and none behind a proxy that speaks TLS', () => {
    for (const [host, isOpen] of Object.entries({ ...HOSTS, ...LOOPBACKS })) {
      const isWarned = (publicUrl: string, ...trustedProxies: string[]): boolean =>
        describeExposure({ host, publicUrl, trustedProxies }) !== undefined;
      assert.equal(isWarned(''), isOpen, host);
      assert.equal(isWarned('http://pims.example.com'), isOpen, host);
      assert.equal(isWarned('https://pims.example.com'), false, host);
      assert.equal(isWarned('', '10.0.0.0/8'), false, host);
    }
  });
});
