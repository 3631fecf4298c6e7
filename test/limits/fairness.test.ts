/** A flood of ordinary pages of one tenant: the reads of another come in between, however many pages wait. */
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { openSocket, writeRequest } from '../kit/raw-http.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

const RECORDS = 500;
const PAGES = 64;
const ROUNDS = 5;
/** About a tenth it is, a half where all pages are made in one turn of the event loop. */
const SHARE_MOST = 0.3;

const service = await ownService();
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(RECORDS, (index) => ({ CUSTOMER_CODE: `C${index}`, NOTES: 'x'.repeat(200) })),
);
const orderNum = await quiet.newOrder();
const page = writeRequest(
  'POST',
  `${BASE_PATH}/customers/query?teamID=busy&maxReturn=${RECORDS}`,
  [`Authorization: ${basicOf(busy.keys)}`, 'Content-Type: application/json'],
  '[]',
);
const read = writeRequest('GET', `${BASE_PATH}/orders/single?orderNum=${orderNum}&teamID=quiet`, [
  `Authorization: ${basicOf(quiet.keys)}`,
]);

/** Until all of an answer has come. Looks at its status and its length alone: the time it takes counts here. */
async function taken(socket: Socket): Promise<void> {
  let left = -1;
  for await (const [chunk] of on(socket, 'data') as AsyncIterable<[Buffer]>) {
    const end = left < 0 ? chunk.indexOf('\r\n\r\n') : -4;
    if (left < 0) {
      const head = chunk.toString('latin1', 0, end);
      assert.match(head, /^HTTP\/1.1 200 /);
      left = Number(/^content-length: (\d+)/im.exec(head)![1]);
    }
    left -= chunk.length - end - 4;
    if (left <= 0) return;
  }
}

test(`of the time that ${PAGES} pages take, a read of another tenant waits for less than a third`, async () => {
  const sockets = times(PAGES + 1, () => openSocket(service.origin));
  for (const socket of sockets) if (socket.connecting) await once(socket, 'connect');
  const reader = sockets.pop()!;
  const shares: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const ended = Promise.all(sockets.map((socket) => taken(socket)));
    const begunAt = performance.now();
    for (const socket of sockets) socket.write(page);
    reader.write(read);
    await taken(reader);
    const waited = performance.now() - begunAt;
    await ended;
    shares.push(waited / (performance.now() - begunAt));
  }
  for (const socket of [...sockets, reader]) socket.destroy();
  const middle = shares.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
  assert.ok(middle < SHARE_MOST, `it waited for ${shares.map((share) => share.toFixed(2)).join(', ')} of the time`);
});
