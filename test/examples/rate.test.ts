/** Tests that examples/ send an order in several batches if it has more steps than the tenant's rate allows at once. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { type Received, UnkindServer } from '../client/unkind-server.ts';
import { times } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';
import { LANGUAGES, sold, Storefront, type Taken } from './storefront.ts';

const LINES = 30;
const HEADERS = ['retry-after', 'ratelimit-policy', 'x-request-id'];

const service = await sharedService();

/** A proxy between an integration and the service. It loses the responses to some batches that were written. */
class LossyProxy {
  readonly origin: string;
  readonly #told = new EventEmitter();
  #written = 0;

  /** `lost` has the numbers of these batches, from 1. Replayed batches do not count. */
  constructor(server: UnkindServer, lost: readonly number[]) {
    this.origin = new URL(server.baseUrl).origin;
    server.will((response, request) => void this.#forward(response, request, lost));
  }

  untilOneIsLost = (): Promise<unknown> => once(this.#told, 'lost');

  async #forward(response: ServerResponse, { method, url, headers, body }: Received, lost: readonly number[]) {
    const { authorization, 'content-type': type, 'idempotency-key': key } = headers;
    const sent = Object.entries({ authorization, 'content-type': type, 'idempotency-key': key as string | undefined });
    const known = sent.filter((pair): pair is [string, string] => pair[1] !== undefined);
    const answer = await fetch(service.origin + url, { method, headers: known, body: body === '' ? null : body });
    const text = await answer.text();
    const isNew = url.includes('/batch') && answer.ok && !answer.headers.has('idempotent-replayed');
    if (isNew && lost.includes(++this.#written)) {
      response.destroy();
      this.#told.emit('lost');
      return;
    }
    for (const name of HEADERS) if (answer.headers.has(name)) response.setHeader(name, answer.headers.get(name)!);
    response.writeHead(answer.status).end(text);
  }
}

async function sellAtLowRate(language: keyof typeof LANGUAGES): Promise<void> {
  const shop = await Shop.open(service, `rate-${language}`, '--rate', '10');
  await shop.load(
    'inventory',
    times(3, (at) => ({ PART_CODE: `P${at}`, QTY_ONHAND: '1000' })),
  );
  // The first batch of each order.
  const lost = [1, 3];
  const proxy = new LossyProxy(await UnkindServer.start(), lost);
  const store = new Storefront(LANGUAGES[language], { keys: shop.keys, service: proxy });
  for (const number of ['#1', '#2']) store.sell(sold(number, LINES));
  const isRefused = (): boolean => store.list('aside').length > 0;
  for (const _ of lost) {
    const isLost = proxy.untilOneIsLost();
    store.start();
    await Promise.race([isLost, store.until(isRefused)]);
    await store.kill();
  }
  store.start();
  await store.until(() => store.list('taken').length === 2 || isRefused());
  await store.kill();
  assert.deepEqual(store.list('aside'), []);

  await shop.run('tenant', 'set', shop.keys.teamID, '--rate', 'none');
  for (const { number, orderNumber } of store.list<Taken>('taken')) {
    const { body } = await shop.findOrdersByStorefrontReference(number);
    const found = (body as { orders: { pims_order_number: string; items: { part_number: string }[] }[] }).orders;
    assert.deepEqual(
      found.map((one) => [one.pims_order_number, one.items.map(({ part_number: part }) => part)]),
      [[orderNumber, times(LINES, (at) => `P${at % 3}`)]],
    );
  }
}

test('Python: at 10 calls a second, orders of 30 lines arrive once with all their lines, through kills between pieces', () =>
  sellAtLowRate('Python'));
test('TypeScript: at 10 calls a second, orders of 30 lines arrive once with all their lines, through kills between pieces', () =>
  sellAtLowRate('TypeScript'));
