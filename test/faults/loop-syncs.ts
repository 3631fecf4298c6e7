/**
 * Proves that the embedded service never waits for a disk on its event loop: strace sees no sync of that thread while
 * people and programs write. Part of `npm run test:faults`; needs strace.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BEHIND_PROXY } from '../dashboard/scene.ts';
import { expectOk, Visitor } from '../dashboard/visitor.ts';
import { range } from '../kit/lists.ts';
import { stockShop } from '../kit/operations.ts';
import { succeed } from '../kit/records.ts';
import { ownService, temporaryFolder } from '../kit/service.ts';

const ROUNDS = 20;

test('no sync runs on the event loop while users, stock and customers are written', async () => {
  const service = await ownService({ env: BEHIND_PROXY });
  const { shop } = await stockShop(service, 'shop');
  const owner = await Visitor.make(service, 'shop', 'owner');
  const file = join(temporaryFolder(), 'trace');
  const trace = spawn('strace', ['-p', `${service.pid}`, '-e', 'trace=fsync,fdatasync', '-o', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  trace.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!said.includes('attached')) await once(trace.stderr, 'data');
  for (const round of range(ROUNDS)) {
    await owner.ask('POST /users', { email: `n${round}@shop.example`, role: 'viewer' });
    await expectOk(owner.post('/records/stock/receive', { PART_CODE: 'part-shop', QUANTITY: '1', REASON: `${round}` }));
    await succeed(shop.createCustomer({ CUSTOMER_CODE: `c${round}` }));
  }
  trace.kill('SIGINT');
  await once(trace, 'exit');
  assert.equal(readFileSync(file, 'utf8').match(/sync\(/g), null);
});
