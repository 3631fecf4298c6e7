/**
 * Tests the settings of a service: the defaults, the variables and options that change them, which of these applies,
 * and which values are refused. The names are fixed, because programs that start a service depend on them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findFreePort } from '../kit/raw-http.ts';
import { createOrder } from '../kit/orders.ts';
import { PROGRAM } from '../kit/program.ts';
import { ownService, runCommand, temporaryFolder } from '../kit/service.ts';

interface Setting {
  variable: string;
  value: string | number;
  source: string;
}

const UNSET = { STOREROOM_DATA: '', STOREROOM_PORT: '', STOREROOM_HOST: '', STOREROOM_DATABASE_URL: '' };

async function readSettings(env: Record<string, string>): Promise<Map<string, string>> {
  const { stdout, json } = await runCommand('', ['config', '--json'], { env: { ...UNSET, ...env } });
  assert.ok(stdout.startsWith('{'));
  const { settings } = json() as { settings: Setting[] };
  return new Map(settings.map(({ variable, value, source }) => [variable, `${value} from ${source}`]));
}

/** Runs `storeroom serve` with these options and variables until the test ends, and returns the printed origin. */
async function serve(context: TestContext, options: readonly string[], env: Record<string, string>): Promise<string> {
  const [program, ...before] = PROGRAM;
  const child = spawn(program, [...before, 'serve', ...options], {
    env: { ...process.env, STOREROOM_DEMO: 'off', ...env },
  });
  context.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  let printed = '';
  child.stdout.setEncoding('utf8');
  for (;;) {
    const told = /Base URL\s+(http:\/\/[^/\s]+)/.exec(printed);
    if (told) return told[1]!;
    printed += String((await once(child.stdout, 'data'))[0]);
  }
}

const isHealthy = (origin: string): Promise<boolean> =>
  fetch(`${origin}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

// Holds S13.2, S13.9.
test('without any setting the service listens on 127.0.0.1, port 8080, and has its data in ./data', async () => {
  const settings = await readSettings({});
  const shown = ['STOREROOM_HOST', 'STOREROOM_PORT', 'STOREROOM_DATA'].map((variable) => settings.get(variable));
  assert.deepEqual(shown, ['127.0.0.1 from default', '8080 from default', './data from default']);
});

// Holds S13.2, S13.9.
test('serve uses STOREROOM_DATA, STOREROOM_PORT and STOREROOM_HOST', async (context) => {
  const [port, folder] = [String(await findFreePort()), join(temporaryFolder(), 'made')];
  const origin = await serve(context, [], {
    STOREROOM_DATA: folder,
    STOREROOM_PORT: port,
    STOREROOM_HOST: '127.0.0.2',
  });
  assert.equal(origin, `http://127.0.0.2:${port}`);
  assert.deepEqual([await isHealthy(origin), await isHealthy(`http://127.0.0.1:${port}`)], [true, false]);
  assert.ok(existsSync(join(folder, 'control.db')));
});

// Holds S13.2.
test('--port and --host of serve take precedence over the variables', async (context) => {
  const port = String(await findFreePort());
  const env = { STOREROOM_DATA: temporaryFolder(), STOREROOM_PORT: '1', STOREROOM_HOST: '192.0.2.1' };
  const origin = await serve(context, ['--port', port, '--host', '127.0.0.3'], env);
  assert.equal(origin, `http://127.0.0.3:${port}`);
  assert.equal(await isHealthy(origin), true);
});

test('STOREROOM_DATABASE_URL is shown without its password', async () => {
  const settings = await readSettings({ STOREROOM_DATABASE_URL: 'postgres://storeroom:hidden@127.0.0.1:1/storeroom' });
  const shown = settings.get('STOREROOM_DATABASE_URL');
  assert.equal(shown, 'postgres://storeroom:…@127.0.0.1:1/storeroom from environment');
  const several = { STOREROOM_DATABASE_URL: 'postgres://storeroom:hidden@one:1,[::1]:2,three/storeroom' };
  const shownOfSeveral = (await readSettings(several)).get('STOREROOM_DATABASE_URL');
  assert.equal(shownOfSeveral, 'postgres://storeroom:…@one:1,[::1]:2,three/storeroom from environment');
});

// Holds S13.9.
test('a wrong STOREROOM_DATABASE_URL is refused, its password hidden, and no folder created instead', async () => {
  const folder = join(temporaryFolder(), 'data');
  for (const [url, sentence] of [
    ['mysql://storeroom:hidden@127.0.0.1:1/storeroom', /STOREROOM_DATABASE_URL must be an address such as postgres:/],
    ['postgres://storeroom:hidden@127.0.0.1:1/storeroom', /database/],
    ['postgres://storeroom:hidden@127.0.0.1:1,/storeroom', /STOREROOM_DATABASE_URL must be an address such as/],
    ['postgres://storeroom:hidden@127.0.0.1:1/storeroom?target_session_attrs=any', /target_session_attrs/],
    ['postgres://storeroom:hidden@127.0.0.1:1,127.0.0.1:2/storeroom', /127\.0\.0\.1:1: .+; 127\.0\.0\.1:2: .+/],
  ] as const)
    for (const words of [
      ['serve', '--port', '0'],
      ['tenant', 'list'],
    ]) {
      const { code, stdout, stderr } = await runCommand(folder, words, { env: { STOREROOM_DATABASE_URL: url } });
      assert.equal(
        `${code} ${stdout}`,
        stderr.includes('STOREROOM_DATABASE_URL must be') ? '78 ' : '1 ',
        words.join(' '),
      );
      assert.match(stderr, sentence);
      assert.doesNotMatch(stderr, /hidden/);
    }
  assert.equal(existsSync(folder), false);
});

test('STOREROOM_DATABASE_URL_FILE names a file with the address; it must be readable and the only one', async () => {
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, 'postgres://storeroom:hidden@127.0.0.1:1/storeroom\n');
  const named = { STOREROOM_DATABASE_URL_FILE: file };
  assert.equal(
    (await readSettings(named)).get('STOREROOM_DATABASE_URL'),
    'postgres://storeroom:…@127.0.0.1:1/storeroom from environment',
  );
  for (const [env, says] of [
    [
      { STOREROOM_DATABASE_URL_FILE: `${file}.gone` },
      /STOREROOM_DATABASE_URL_FILE is '.*\.gone', which cannot be read \(ENOENT\)/,
    ],
    [
      { ...named, STOREROOM_DATABASE_URL: 'postgres://a@b/c' },
      /Set either STOREROOM_DATABASE_URL or STOREROOM_DATABASE_URL_FILE/,
    ],
  ] as const) {
    const { code, stderr } = await runCommand('', ['config'], { env: { ...UNSET, ...env } });
    assert.equal(code, 78);
    assert.match(stderr, says);
    // Help needs no setting.
    assert.equal((await runCommand('', ['--help'], { env: { ...UNSET, ...env } })).code, 0);
  }
});

// Holds S6.15, S6.17.
test('STOREROOM_MAX_RETURN_DEFAULT and STOREROOM_RETURN_MAX set how many records a query returns', async () => {
  const service = await ownService({ env: { STOREROOM_MAX_RETURN_DEFAULT: '2', STOREROOM_RETURN_MAX: '3' } });
  const keys = await service.makeTenant('shop');
  for (let count = 0; count < 4; count++) await createOrder(service, keys);
  const count = async (query: Record<string, string>): Promise<[number, string | null]> => {
    const { body, headers } = await service.call(keys, 'POST', '/orders/query', { query, body: [] });
    return [body.data.length as number, headers.get('x-has-more')];
  };
  assert.deepEqual(await count({}), [2, 'true']);
  for (const maxReturn of ['3', '4']) assert.deepEqual(await count({ maxReturn }), [3, 'true']);
});
