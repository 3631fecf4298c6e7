/** examples/ against the service: orders in, stock out, status back, and what the programs do about each error. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ERRORS } from '../../src/errors.ts';
import { byNumber, times } from '../kit/lists.ts';
import { Shop, succeed } from '../kit/records.ts';
import { sharedService, temporaryFolder } from '../kit/service.ts';
import { EXAMPLES, LANGUAGES, sold, Storefront, type Taken } from './storefront.ts';

const service = await sharedService();

async function keepInStep(language: keyof typeof LANGUAGES): Promise<void> {
  const shop = await Shop.open(service, `status-${language}`);
  await shop.load(
    'inventory',
    times(3, (at) => ({ PART_CODE: `P${at}`, QTY_ONHAND: '10' })),
  );
  const store = new Storefront(LANGUAGES[language], shop);
  for (const number of ['#1', '#2', '#3']) store.sell(sold(number, 2));
  store.start();
  await store.until(() => store.list('taken').length === 3);
  const [first, second] = store
    .list<Taken>('taken')
    .toSorted((a, b) => byNumber(a.orderNumber, b.orderNumber))
    .map(({ orderNumber }) => orderNumber);
  const stateOf = (number: string): string => {
    const { status } = store.list<Taken>('taken').find((one) => one.number === number)!;
    return `${status?.state} ${status?.shipped} of ${status?.ordered}`;
  };
  await store.until(() => stateOf('#1') === 'open 0 of 2' && store.stock()['P0'] === '7');
  const { backorder } = await shop.run<{ backorder: string }>(
    'order',
    'invoice',
    shop.keys.teamID,
    first!,
    '--line',
    '1=1',
  );
  await succeed(shop.cancelOrder({ ORDER_NUMBER: second }));
  await store.until(() => stateOf('#1') === 'shipped in part 1 of 2' && stateOf('#2').startsWith('cancelled'));
  await shop.run('order', 'invoice', shop.keys.teamID, backorder);
  await store.until(() => stateOf('#1') === 'shipped 2 of 2' && store.stock()['P0'] === '8');
  assert.equal(stateOf('#3'), 'open 0 of 2');
  // Keys that have ended need a person: it stops and says so.
  await shop.run('keys', 'replace', shop.keys.teamID);
  assert.equal(await store.ended(), 1);
  assert.match(store.output, /INVALID_CREDENTIALS/);
}

test('TypeScript: what is invoiced, cancelled and taken from stock comes back with the next rounds', () =>
  keepInStep('TypeScript'));
test('Python: what is invoiced, cancelled and taken from stock comes back with the next rounds', () =>
  keepInStep('Python'));

test('both programs do the same about every error, as the guide says', async () => {
  const answered = Object.entries(ERRORS).filter(([, { place }]) => place !== 'dashboard' && place !== 'command');
  const asked = answered.map(([code, { httpStatus }]) => [httpStatus, code] as const);
  const program = `
import json, os, sys
sys.path.insert(0, ${JSON.stringify(join(EXAMPLES, 'python'))})
from client import action_for
print(json.dumps([action_for(status, code) for status, code in json.load(sys.stdin)]))`;
  const file = join(temporaryFolder(), 'keys.json');
  writeFileSync(file, '{}');
  const output = execFileSync('python3', ['-B', '-c', program], {
    input: JSON.stringify(asked),
    env: { ...process.env, KEYS_FILE: file },
    encoding: 'utf8',
  });
  process.env['KEYS_FILE'] = file;
  const { actionFor } = await import('../../examples/typescript/client.ts');
  const found = Object.fromEntries(asked.map(([status, code]) => [code, actionFor(status, code)]));
  assert.deepEqual(JSON.parse(output), Object.values(found));
  const [, table = ''] = readFileSync(join(EXAMPLES, '../docs/api-reference.md'), 'utf8').split(
    '\n## Repeating a call\n',
  );
  const repeated = new Set<string>();
  for (const [row] of table.split('\n## ')[0]!.matchAll(/^\| [^|]+ \| yes \|.*$/gm))
    for (const [, code] of row.split(' | ')[0]!.matchAll(/`([A-Z_]+)`/g)) repeated.add(code!);
  for (const [status, code] of asked) {
    const wanted = status >= 500 || repeated.has(code) ? 'repeat' : undefined;
    assert.equal(found[code] === 'repeat', wanted === 'repeat', code);
  }
  assert.equal(found['QUOTA_EXCEEDED'], 'pause');
  assert.equal(found['INVALID_CREDENTIALS'], 'stop');
  assert.equal(found['INVALID_VALUE'], 'set aside');
});
