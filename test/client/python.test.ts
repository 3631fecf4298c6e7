/** Runs the tests of the Python client, which call the service and a server that answers badly. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ERRORS } from '../../src/errors.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, sharedService, temporaryFolder } from '../kit/service.ts';
import { pythons } from '../kit/pythons.ts';
import { repeatedCodes } from './guide.ts';

const CLIENT = join(import.meta.dirname, '../../client-python');
const service = await sharedService();
const run = promisify(execFile);

for (const { version, program } of pythons())
  test(`Python ${version}: every operation succeeds, and the documented calls are retried`, async () => {
    const shop = await Shop.open(service, `python-${version.replace('.', '-')}`);
    await shop.load('inventory', [
      { PART_CODE: 'A/1#x', QTY_ONHAND: '9', UNIT_PRICE: '2.5' },
      { PART_CODE: 'B', QTY_ONHAND: '4', UNIT_PRICE: '1' },
    ]);
    const file = join(temporaryFolder(), 'keys.json');
    const office = await shop.run('keys', 'create', shop.keys.teamID, '--name', 'office', '--scope', 'office');
    writeFileSync(file, JSON.stringify({ ...shop.keys, office }));
    const repeated = repeatedCodes();
    const answers = Object.entries(ERRORS)
      .filter(([, { place }]) => place !== 'dashboard' && place !== 'command')
      .map(([code, { httpStatus }]) => [httpStatus, code, httpStatus >= 500 || repeated.has(code)]);
    const env = {
      ...process.env,
      PYTHONPATH: CLIENT,
      BASE: service.origin + BASE_PATH,
      KEYS_FILE: file,
      ANSWERS: JSON.stringify(answers),
    };
    const words = ['-B', '-W', 'error', '-m', 'unittest', 'discover', '-s', join(CLIENT, 'tests')];
    const { stderr } = await run(program, words, { env });
    assert.match(stderr, /^Ran \d\d tests in [^]*\nOK\n$/m);
  });

test('the module is valid Python 3.9, with the version of the service and every operation of the contract', async () => {
  const { version } = JSON.parse(readFileSync(join(CLIENT, '../package.json'), 'utf8')) as { version: string };
  const program = `
import ast, json, re, sys
text = open(sys.argv[1]).read()
ast.parse(text, feature_version=(3, 9))
import storeroom
print(json.dumps([storeroom.__version__, storeroom.OPERATIONS]))`;
  const { stdout } = await run('python3', ['-B', '-c', program, join(CLIENT, 'storeroom.py')], {
    env: { ...process.env, PYTHONPATH: CLIENT },
  });
  const { OPERATIONS } = await import('../../client/src/contract.ts');
  assert.deepEqual(JSON.parse(stdout), [version, OPERATIONS]);
  assert.ok(readFileSync(join(CLIENT, 'pyproject.toml'), 'utf8').includes(`\nversion = "${version}"\n`));
});
