/**
 * Many clients change one line at once, each with the ETag that it has read: every successful write saw the state that
 * the one before it left, and none is lost. With PostgreSQL, three nodes run. STOREROOM_TEST_CHANGES sets the number of
 * changes.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { newDatabase } from '../kit/postgres.ts';
import type { Values } from '../kit/records.ts';
import { Repeater } from '../kit/repeat.ts';
import { Service, STORE } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';

const CHANGES = trials('CHANGES', { quick: 20, all: 300 });
const CLIENTS = 64;
const NODES = 3;

const nodes =
  STORE === 'postgres' ? await Service.startAll(NODES, { databaseUrl: await newDatabase() }) : [await Service.start()];
after(() => Promise.all(nodes.map((node) => node.stop())));

interface Change {
  readonly saw: string;
  readonly left: string;
}

// Holds S11.6, S11.7.
test('64 clients changing one line with If-Match: no update is lost', async (context) => {
  const keys = await nodes[0]!.makeTenant('shop');
  const client = await HttpClient.open(nodes, CLIENTS);
  const { data: ORDER_NUMBER } = (await client.call(keys, 'PUT', '/orders/create', { body: {} })).body;
  const first = { ORDER_NUMBER, DESCRIPTION: 'first', QUANTITY: '0' };
  const { LINE_REF_LOCK_CODE } = (await client.call(keys, 'PUT', '/orders/line_item', { body: first })).body.data;
  const done: Change[] = [];
  let refused = 0;
  const repeater = new Repeater();
  const readLine = async (): Promise<{ line: Values; tag: string }> => {
    const { status, body, headers } = await repeater.call(() => getOrder(client, keys, ORDER_NUMBER));
    assert.equal(status, 200);
    return { line: body.subRecords[0].ORDER_LINEITEMS, tag: headers.get('etag')! };
  };
  const work = async (name: number): Promise<void> => {
    for (let attempt = 0; done.length < CHANGES; attempt++) {
      const { line, tag } = await readLine();
      const left = `client ${name}, attempt ${attempt}`;
      const change = { DESCRIPTION: left, QUANTITY: String(Number(line['QUANTITY']) + 1) };
      const body = { ORDER_NUMBER, LINE_REF_LOCK_CODE, ...change };
      const headers = { 'if-match': tag, 'idempotency-key': `client-${name}-attempt-${attempt}` };
      const answer = await repeater.call(() => client.call(keys, 'POST', '/orders/line_item', { body, headers }));
      if (answer.status === 200) done.push({ saw: line['DESCRIPTION']!, left });
      else {
        assert.equal(answer.body.code, 'RECORD_CHANGED', answer.text);
        assert.notEqual(answer.headers.get('etag'), tag);
        refused++;
      }
    }
  };
  await Promise.all(times(CLIENTS, work));
  context.diagnostic(`${done.length} changes, ${refused} refused, ${repeater.refused} calls repeated`);
  assert.ok(refused > 0, 'no two clients ever met');
  const { line } = await readLine();
  assert.equal(line['QUANTITY'], String(done.length));
  // From the first state on, exactly one change was made to each state.
  const bySaw = new Map(done.map(({ saw, left }) => [saw, left]));
  assert.equal(bySaw.size, done.length, 'two changes were made to the same state');
  let state = 'first';
  for (let at = 0; at < done.length; at++) {
    const next = bySaw.get(state);
    assert.ok(next !== undefined, `the change that left '${state}' was overwritten by one that had not seen it`);
    state = next;
  }
  assert.equal(line['DESCRIPTION'], state);
});
