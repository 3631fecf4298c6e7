/** Tests the command line as a whole: help, wrong use, settings, and what is printed where. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { suite, test } from 'node:test';
import { SETTINGS } from '../../src/config.ts';
import { openCommandLine, readOneObject } from '../kit/cli-process.ts';

const COMMANDS = (
  'serve, tenant create, tenant list, tenant set, tenant remove, keys create, keys list, keys replace, keys end, fields list, fields add, ' +
  'order approve, order invoice, order show, import, export, usage, requests, backup, restore, config'
).split(', ');

const WRONG_USE = [
  '',
  'tenant',
  'tenants',
  'tenant rename a',
  'tenant create --name A',
  'tenant list a',
  'tenant set a',
  'tenant set a --strict yes',
  'tenant set a --default-stage invoice',
  'tenant set a --quota 1.5',
  'tenant set a --rate 0',
  'keys replace a --overlap 2h',
  'keys create a',
  'keys create a --name b --scope all',
  'keys create a --name b --days 0',
  'keys create a --name b --days 3651',
  'keys create a --name b --days 1.5',
  'keys end a',
  'fields add a orders GIFT',
  'order invoice a 1 --line 1',
  'order invoice a 1 --line 1=two',
  'order invoice a 1 --line 1=1 --line 1=2',
  'import a order a.csv',
  'export a',
  'usage a --month 2026-13',
  'serve --port 99999',
  'config --verbose',
];

test('a process ends with 0 when done, 1 when refused, 2 after wrong use, and prints all it has to say', async () => {
  const { runAlone } = openCommandLine();
  const ends = [
    ['config --json', 0, /^\{.*\}\n$/, /^$/],
    ['tenant list', 1, /^$/, /^storeroom: There is no data in .*\n$/],
    ['tenants', 2, /^$/, /^error: unknown command 'tenants'\n/],
  ] as const;
  for (const [line, code, says, complains] of ends) {
    const { exitCode, out, err } = await runAlone(line);
    assert.equal(exitCode, code, line);
    assert.match(out, says);
    assert.match(err, complains);
  }
});

suite('help', () => {
  const { run } = openCommandLine();

  for (const command of COMMANDS)
    test(`of ${command} is on standard output and has an example of it`, async () => {
      const { exitCode, out, err } = await run(`${command} --help`);
      assert.equal(`${exitCode} ${err}`, '0 ');
      assert.match(out, new RegExp(`Example:\n  \\$ storeroom ${command}`));
      assert.match(out, /--json/);
    });

  // Holds S13.1.
  test('of the program lists every command', async () => {
    const { exitCode, out } = await run('--help');
    assert.equal(exitCode, 0);
    for (const command of COMMANDS) assert.match(out, new RegExp(`^  ${command.split(' ')[0]}\\b`, 'm'));
  });
});

suite('wrong use ends with 2 and says why on standard error', () => {
  const { run, data } = openCommandLine();

  for (const line of WRONG_USE)
    test(`storeroom ${line}`, async () => {
      const { exitCode, out, err } = await run(line);
      assert.equal(`${exitCode} ${out}`, '2 ');
      assert.match(err, /\S/);
      assert.equal(existsSync(data), false);
    });

  // Holds S13.7.
  test('with --json it says so in one object', async () => {
    const { exitCode, out, err } = await run('usage a --month May --json');
    assert.equal(`${exitCode} ${out}`, '2 ');
    const message = "option '--month <month>' argument 'May' is invalid. It must look like 2026-11.";
    assert.deepEqual(readOneObject(err), { error: { code: 'WRONG_USE', message } });
  });
});

suite('a data folder that is not there', () => {
  const { refused, data } = openCommandLine();

  for (const line of ['tenant list', 'keys replace a', 'usage a', 'export a orders', 'backup /nowhere'])
    test(`is not created by ${line}, which is refused`, async () => {
      const { code, message } = await refused(line);
      assert.equal(code, 'COMMAND_REFUSED');
      assert.match(message, /There is no data in /);
      assert.equal(existsSync(data), false);
    });
});

suite('settings', () => {
  interface Answer {
    settings: { name: string; variable: string; value: string | number; source: string }[];
    unknown: string[];
  }
  const good = openCommandLine({ STOREROOM_PORT: '9000', STOREROOM_HSOT: 'x' });
  const bad = openCommandLine({ STOREROOM_PORT: 'nine', STOREROOM_DEMO: 'maybe' });

  test('are shown with value, source and variable, and a mistyped variable is named', async () => {
    const { settings, unknown } = await good.ask<Answer>('config');
    const shown = Object.fromEntries(
      settings.map(({ variable, value, source }) => [variable, `${value} from ${source}`]),
    );
    assert.equal(shown['STOREROOM_DATA'], `${good.data} from environment`);
    assert.equal(shown['STOREROOM_PORT'], '9000 from environment');
    assert.equal(shown['STOREROOM_HOST'], '127.0.0.1 from default');
    assert.deepEqual(unknown, ['STOREROOM_HSOT']);
    assert.equal(existsSync(good.data), false);
  });

  const NETWORKS = ['127.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::ffff:10.0.0.1/128'];
  const NO_NETWORKS = ['', 'localhost', '1.2.3', '256.1.1.1', '010.0.0.1', '10.0.0.0/33', '10.0.0.0/8/9', '10.0.0.0/'];

  test('trusted proxies are IP addresses and networks, and nothing else', () => {
    const { parse } = SETTINGS.trustedProxies;
    assert.deepEqual(parse(NETWORKS.join(', ')), NETWORKS);
    for (const word of [...NO_NETWORKS, '::1/129', '::1::', '[::1]', 'fe80::1%eth0'])
      assert.equal(parse(`127.0.0.1, ${word}`), undefined, word);
  });

  test('that cannot be parsed are all refused at once', async () => {
    const { exitCode, err } = await bad.run('config', '--json');
    const { code, message } = JSON.parse(err).error as { code: string; message: string };
    assert.deepEqual([exitCode, code], [78, 'WRONG_SETTING']);
    assert.match(message, /STOREROOM_PORT must be .*\nSTOREROOM_DEMO must be /);
  });
});
