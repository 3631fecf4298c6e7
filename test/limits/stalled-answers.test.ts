/** Tests that a connection is ended if its client reads nothing of a response for 30 s, and not if it reads some. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { openSocket, writeRequest } from '../kit/raw-http.ts';
import { ownService } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const LOOK_MS = 5000;
/** The first check notes the unread bytes. A connection is ended when six more checks in a row find as many. */
const LOOKS = 7;
const FILES = 30;
/** Bytes to read between two checks: enough that the service sends more and the unread rest differs each time. */
const TAKEN_BYTES = 5_000_003;

/** Reads this many bytes and leaves the rest. */
async function take(socket: Socket, bytes: number): Promise<void> {
  for (let taken = 0; taken < bytes;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) taken += chunk.length;
    else await once(socket, 'readable');
  }
}

test('a connection that reads none of its response is ended after 30 s, and a slow one continues', async () => {
  const service = await ownService();
  const ended = async (): Promise<number> =>
    sumOf((await readMetrics(service)).samples, 'storeroom_connections_ended_total', { reason: 'untaken' })!;
  const files = Buffer.concat(times(FILES, () => writeRequest('GET', '/docs/js/scalar.js')));
  await service.stand();
  const stuck = sendUnread(service.origin, files);
  const slow = openSocket(service.origin);
  slow.write(files);
  await take(slow, TAKEN_BYTES);
  // The first check comes LOOK_MS after the start of the service.
  await service.move(LOOK_MS);
  for (let look = 2; look < LOOKS; look++) {
    await take(slow, TAKEN_BYTES);
    await service.move(LOOK_MS);
  }
  assert.equal(await ended(), 0, 'after less than 30 s');
  await take(slow, TAKEN_BYTES);
  await service.move(LOOK_MS);
  assert.equal(await ended(), 1);
  // A client that does not read notices the end of the connection when it can no longer send.
  const closed = { isSo: false };
  stuck.once('close', () => (closed.isSo = true));
  await until(() => {
    if (!stuck.destroyed) stuck.write('\r\n');
    return closed.isSo;
  });
  for (let look = 0; look < LOOKS; look++) {
    await take(slow, TAKEN_BYTES);
    await service.move(LOOK_MS);
  }
  assert.ok(!slow.destroyed, 'the slow one is there');
  assert.equal(await ended(), 1);
  slow.destroy();
});
