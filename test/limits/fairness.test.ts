/** Tests that reads of a tenant are answered between the ordinary pages of another, however many pages wait. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { API, COOKIE, Visitor } from '../dashboard/visitor.ts';
import { sendTogether } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { openSocket, readAnswers, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';

const RECORDS = 500;
const PAGES = 64;
const READS = 100;
const ROUNDS = 5;
/**
 * The service makes about ten pages in a round of the event loop. Without turns, it would make all pages together,
 * except those that continue in a thread.
 */
const TOGETHER_MAX = PAGES / 2;
/** Time after which a user may read records 200 times again. */
const REFILL_MS = 10_000;

const service = await ownService();
const [busy, quiet] = [await Shop.open(service, 'busy'), await Shop.open(service, 'quiet')];
await busy.load(
  'customers',
  times(RECORDS, (index) => ({ CUSTOMER_CODE: `C${index}`, BSTATE: 'ME', NOTES: 'x'.repeat(1000) })),
);
const orderNum = await quiet.newOrder();
/** Returns the headers of a dashboard user. Reads there are not counted, so no response waits for a count on disk. */
const headersOf = async (teamID: string): Promise<string[]> => {
  const { token } = await Visitor.make(service, teamID, 'viewer');
  const origin = [`Origin: ${service.origin}`, 'Sec-Fetch-Site: same-origin'];
  return [...origin, `Cookie: ${COOKIE}=${token}`, 'Content-Type: application/json'];
};
const [busyHeaders, quietHeaders] = [await headersOf('busy'), await headersOf('quiet')];
/** Returns a query that reads all records by an index and matches none. Its response is sent at once. */
const pageOf = (needle: string): Buffer => {
  const notes = { field: 'NOTES', value: needle, contains: true };
  const filters = JSON.stringify([{ field: 'BSTATE', value: 'ME' }, notes]);
  return writeRequest('POST', `${API}/records/customers/query`, busyHeaders, filters);
};
const read = writeRequest('GET', `${API}/records/orders/single?orderNum=${orderNum}`, quietHeaders);
const health = writeRequest('GET', '/healthz');

/** Returns the number in a request ID. A request that begins later in the same process has a higher one. */
const numberOf = ({ headers }: RawAnswer): number => Number.parseInt(headers.get('x-request-id')!.slice(9), 36);

/** Returns the most pages that were made in a row, without a read of the other tenant between them. */
async function longestRun(sockets: readonly Socket[], reader: Socket, round: number): Promise<number> {
  const making = sockets.map((socket) => readAnswers(socket, { count: 2 }));
  const reading = readAnswers(reader, { count: READS });
  await sendTogether(service, [
    // A health check follows each page. It begins when the page has been sent, so its number shows the order.
    ...sockets.map((socket, index) => [socket, Buffer.concat([pageOf(`${round} ${index}`), health])] as const),
    [reader, Buffer.concat(times(READS, () => read))],
  ]);
  const [pages, reads] = [await Promise.all(making), await reading];
  for (const { status, text } of [...pages.flat(), ...reads]) assert.equal(status, 200, text);
  const marks = [...pages.map(([, next]) => [numberOf(next!), 1]), ...reads.map((answer) => [numberOf(answer), 0])];
  const inOrder = marks.toSorted(([a], [b]) => a! - b!).map(([, isPage]) => isPage);
  // Pages after the last read are not between two reads.
  const runs = inOrder.join('').split('0').slice(0, -1);
  return Math.max(...runs.map(({ length }) => length));
}

test(`of ${PAGES} pages requested at once, fewer than ${TOGETHER_MAX} are made between two reads of another tenant`, async () => {
  const sockets = times(PAGES, () => openSocket(service.origin));
  const reader = openSocket(service.origin);
  await service.stand();
  const runs: number[] = [];
  // The first round opens the connections and the files.
  for (let round = 0; round <= ROUNDS; round++) {
    runs.push(await longestRun(sockets, reader, round));
    await service.move(REFILL_MS);
  }
  for (const socket of [...sockets, reader]) socket.destroy();
  const middle = runs.slice(1).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
  assert.ok(middle < TOGETHER_MAX, `${runs.join(', ')} were made together`);
});
