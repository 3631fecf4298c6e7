/**
 * Tests that the copy of examples/typescript/copy.ts equals an export, although the program and the service are killed
 * while others write. STOREROOM_TEST_COPY_KILLS sets the number of kills.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { ServerResponse } from 'node:http';
import type { Storeroom } from '../../client/src/storeroom.ts';
import { clientOf } from '../client/clients.ts';
import { UnkindServer, type Received } from '../client/unkind-server.ts';
import { times } from '../kit/lists.ts';
import { Shop, type Values } from '../kit/records.ts';
import { BASE_PATH, ownService, temporaryFolder } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { Example, PROGRAMS } from './example.ts';

const KILLS = trials('COPY_KILLS', { quick: 6, all: 20 });
const WRITERS = 3;
const KEY_FIELDS = { orders: 'ORDER_NUMBER', customers: 'CUSTOMER_CODE', inventory: 'PART_CODE' };

const service = await ownService({ keepsPort: true });

const HEADERS = ['retry-after', 'x-has-more', 'x-next-after', 'x-next-cursor'];

/** A proxy between the program and the service. It can leave a call of the program unanswered. */
class Gate {
  readonly origin: string;
  #held: { readonly path: string; readonly tell: () => void } | undefined;

  constructor(server: UnkindServer) {
    this.origin = new URL(server.baseUrl).origin;
    server.will((response, request) => {
      if (this.#held && request.url.includes(this.#held.path)) return this.#held.tell();
      void this.#forward(response, request).catch(() => response.destroy());
    });
  }

  /** Leaves calls with this path unanswered. Resolves when the program makes the first one. */
  hold = (path: string): Promise<void> =>
    new Promise((resolve) => {
      this.#held = { path, tell: resolve };
    });

  open(): void {
    this.#held = undefined;
  }

  async #forward(response: ServerResponse, { method, url, headers, body }: Received): Promise<void> {
    const sent = { authorization: headers.authorization!, 'content-type': headers['content-type'] ?? 'text/plain' };
    const answer = await fetch(service.origin + url, { method, headers: sent, body: body === '' ? null : body });
    const text = await answer.text();
    for (const name of HEADERS) if (answer.headers.has(name)) response.setHeader(name, answer.headers.get(name)!);
    response.writeHead(answer.status).end(text);
  }
}

/** The call during which the program is killed while it follows the feed; undefined kills it after a saved page. */
const MOMENTS = [undefined, '/changes', '/orders/query'] as const;
const gate = new Gate(await UnkindServer.start());

class Copy extends Example {
  readonly #database: string;

  readonly #shop: Shop;

  constructor(shop: Shop, folder = temporaryFolder()) {
    const { keys } = shop;
    const file = join(folder, 'keys.json');
    writeFileSync(file, JSON.stringify(keys));
    super(PROGRAMS.copy, { KEYS_FILE: file, COPY: join(folder, 'copy.db'), BASE: gate.origin + BASE_PATH });
    this.#database = join(folder, 'copy.db');
    this.#shop = shop;
  }

  /** Number of pages that the program has saved in all its runs. */
  get pages(): number {
    return this.output.split(' changes, up to ').length - 1;
  }

  /** Waits until the program has saved every change up to this one. */
  reaches = (seq: string): Promise<void> =>
    this.until(() => Number(/.* up to (\d+)\n/s.exec(this.output)?.[1] ?? 0) >= Number(seq));

  /** Returns a second program on the same file. */
  another = (): Copy => new Copy(this.#shop, dirname(this.#database));

  run(sql: string): void {
    using database = new DatabaseSync(this.#database);
    database.exec(sql);
  }

  /** Returns the records of a type in the copy, by key. */
  read(type: string): Record<string, Values> {
    using database = new DatabaseSync(this.#database, { readOnly: true });
    const rows = database.prepare('SELECT key, record FROM records WHERE type = ?').all(type);
    return Object.fromEntries(rows.map(({ key, record }) => [key, JSON.parse(String(record)) as Values]));
  }
}

/** Returns the records of a type from `storeroom export`, by key. Orders have their lines. */
async function exportAll(shop: Shop, type: keyof typeof KEY_FIELDS): Promise<Record<string, object>> {
  const load = async (name: string): Promise<Values[]> =>
    (await shop.run<{ records: Values[] }>('export', shop.keys.teamID, name)).records;
  const all = (await load(type)).map((record) => [record[KEY_FIELDS[type]]!, record] as const);
  if (type !== 'orders') return Object.fromEntries(all);
  const lines = Object.groupBy(await load('lines'), ({ ORDER_NUMBER = '' }) => ORDER_NUMBER);
  return Object.fromEntries(all.map(([key, order]) => [key, { ...order, lines: lines[key] ?? [] }]));
}

async function assertExact(shop: Shop, copy: Copy): Promise<void> {
  for (const type of ['orders', 'customers', 'inventory'] as const)
    assert.deepEqual(copy.read(type), await exportAll(shop, type), type);
}

/** Writes as callers do, also while the service is down, until `stop` is aborted. */
async function write(client: Storeroom, stop: AbortSignal): Promise<void> {
  for (let round = 0; !stop.aborted; round++) {
    const order = { ORDER_TYPE: 'sales_order', CUSTOMER_CODE: 'C0', NOTES: String(round) } as const;
    const parts = times(1 + (round % 3), (at) => ({ PART_CODE: `P${at}`, QUANTITY: 1 }));
    const { orderNumber, lines } = await client.orders.createWithLines(order, parts);
    const { LINE_REF_LOCK_CODE } = lines[0]!;
    await client.lines.update({ ORDER_NUMBER: orderNumber, LINE_REF_LOCK_CODE, QUANTITY: round % 5 });
    await client.customers.update({ CUSTOMER_CODE: `C${round % 4}`, NOTES: orderNumber });
    if (round % 3 === 0) await client.orders.cancel(orderNumber);
  }
}

test('the copy finally equals an export, after kills of program and service while others write', async () => {
  const shop = await Shop.open(service, 'copy');
  await shop.load(
    'inventory',
    times(3, (at) => ({ PART_CODE: `P${at}`, QTY_ONHAND: '100000' })),
  );
  await shop.load(
    'customers',
    times(600, (at) => ({ CUSTOMER_CODE: `C${at}`, CUSTOMER_NAME: `ä€😀 ${at}` })),
  );
  const { client } = clientOf(shop, { tries: Infinity, totalTimeoutMs: Infinity });
  const stop = new AbortController();
  const writing = Promise.all(times(WRITERS, () => write(client, stop.signal)));
  const copy = new Copy(shop);
  for (let kill = 0; kill < KILLS; kill++) {
    const seen = copy.pages;
    copy.start();
    // In the first two runs the program reads everything. In later runs it saves a page before a call is held.
    if (kill > 1) await copy.until(() => copy.pages > seen + (kill % 2));
    const call = kill < 2 ? '/customers/query' : MOMENTS[kill % 3];
    if (call !== undefined) await gate.hold(call);
    const restarted = kill % 2 === 1 ? service.stop('SIGKILL').then(() => service.restart()) : undefined;
    assert.equal(await copy.kill(), null, copy.output);
    await restarted;
    gate.open();
  }
  stop.abort();
  await writing;
  copy.start();
  // An import also writes to the store while the service runs.
  await shop.load('customers', [{ CUSTOMER_CODE: 'late', CUSTOMER_NAME: 'Late' }]);
  await copy.reaches((await client.listChanges()).next);
  await copy.kill();
  await assertExact(shop, copy);

  // Makes the state after a restore from a backup: the feed lacks the position, and the copy has one more record.
  copy.run("UPDATE position SET seq = '99999999999999'; INSERT INTO records VALUES ('customers', 'gone', '{}', 0)");
  await client.customers.update({ CUSTOMER_CODE: 'C1', NOTES: 'changed meanwhile' });
  copy.start();
  await copy.until(() => copy.output.split('Everything was read').length === 3);
  await copy.kill();
  assert.match(copy.output, /CHANGES_GONE/);
  await assertExact(shop, copy);

  // If a second program uses the same file, one of the two stops.
  const other = copy.another();
  for (const program of [copy, other]) program.start();
  for (let round = 0; !copy.isOver && !other.isOver; round++)
    await client.customers.update({ CUSTOMER_CODE: 'C1', NOTES: String(round) });
  await Promise.all([copy.kill(), other.kill()]);
  assert.match(copy.output + other.output, /only one may keep a copy/);
});
