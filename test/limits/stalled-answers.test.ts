/** A connection that takes nothing of its answer for 30 s is ended; one that takes some is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendUnread } from '../kit/attack.ts';
import { openSocket, writeRequest } from '../kit/raw-http.ts';
import { ownService } from '../kit/service.ts';

const PATIENCE_MS = 50_000;
const STEP_MS = 1000;

test('a connection that takes nothing of its answer is ended after 30 s, a slow one goes on', async () => {
  const { origin } = await ownService();
  const files = Buffer.concat(Array.from({ length: 30 }, () => writeRequest('GET', '/docs/js/scalar.js')));
  const startedAt = performance.now();
  const stuck = sendUnread(origin, files);
  const slow = openSocket(origin).pause();
  slow.write(files);
  let taken = 0;
  const taking = setInterval(() => {
    slow.once('readable', () => (taken += (slow.read() as Buffer | null)?.length ?? 0));
  }, STEP_MS);
  // Its end is seen by what it can no longer be sent.
  const probing = setInterval(() => stuck.write('\r\n'), 500);
  // It ends with an error, which is no surprise.
  const { promise, resolve } = Promise.withResolvers<boolean>();
  stuck.once('close', () => resolve(true));
  setTimeout(() => resolve(false), PATIENCE_MS).unref();
  const isEnded = await promise;
  clearInterval(probing);
  clearInterval(taking);
  const ms = performance.now() - startedAt;
  assert.ok(isEnded, `not ended after ${PATIENCE_MS} ms`);
  assert.ok(ms > 29_000, `ended after ${Math.round(ms)} ms`);
  assert.ok(taken > 0 && !slow.destroyed, 'the slow one is there');
  slow.destroy();
});
