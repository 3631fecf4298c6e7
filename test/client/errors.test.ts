/** Tests the errors of the TypeScript client, and which values it refuses to send. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { step, Storeroom, StoreroomError } from '../../client/src/storeroom.ts';
import { hangUp, keepSilent, saySoAndHangUp, succeed, UnkindServer, type Answering } from './unkind-server.ts';

const server = await UnkindServer.start();
const KEYS = { teamID: 'shop', apiID: 'sr_id_one', apiSecret: 'sr_sk_verysecret' };
const clientAt = (baseUrl: string): Storeroom => new Storeroom({ baseUrl, ...KEYS, tries: 1 });
const client = clientAt(server.baseUrl);

async function failureOf(running: Promise<unknown>): Promise<StoreroomError> {
  const failure = await running.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StoreroomError, inspect(failure));
  return failure;
}

suite('a call without an answer', () => {
  test('says which address it could not connect to, and why', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const failure = await failureOf(clientAt(`http://127.0.0.1:${port}/`).orders.get('1'));
    assert.equal(failure.message, `NO_ANSWER: getOrder failed: could not connect to 127.0.0.1:${port} (ECONNREFUSED).`);
    const unknown = await failureOf(clientAt('http://nowhere.invalid/').usage.get());
    assert.match(
      unknown.message,
      /^NO_ANSWER: getUsage failed: could not connect to nowhere\.invalid \((ENOTFOUND|EAI_AGAIN)\)\.$/,
    );
  });

  test('says that the connection failed after it was made, and how long it waited if nothing arrived', async () => {
    const { host } = new URL(server.baseUrl);
    for (const answer of [hangUp, saySoAndHangUp]) {
      server.will(answer);
      const { message } = await failureOf(client.orders.create({}));
      const start = `NO_ANSWER: createOrder failed: the connection to ${host} failed (`;
      assert.ok(message.startsWith(start), message);
      assert.match(message.slice(start.length), /^(ECONNRESET|UND_ERR_SOCKET)\)\.$/);
    }
    server.will(keepSilent);
    const { message } = await failureOf(client.usage.get(undefined, { timeoutMs: 20.4 }));
    assert.equal(message, `NO_ANSWER: getUsage failed: ${host} did not answer within 20 ms.`);
  });

  test('says in Deno, which has no codes, the reason without the URL', async () => {
    const reason = 'tcp connect error: Connection refused (os error 111)';
    const url = 'http://127.0.0.1:1/orders/single?teamID=shop&orderNum=1';
    const cause = new Error(`error sending request for url (${url}): client error (Connect): ${reason}`);
    const deno = new Storeroom({
      baseUrl: 'http://127.0.0.1:1/',
      ...KEYS,
      tries: 1,
      fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
    });
    assert.equal(
      (await failureOf(deno.orders.get('1'))).message,
      `NO_ANSWER: getOrder failed: could not connect to 127.0.0.1:1 (${reason}).`,
    );
  });
});

suite('a refusal', () => {
  const refusal = {
    status: 'error',
    code: 'UNKNOWN_FIELD',
    message: "There is no field 'REFRENCE'.",
    field: 'REFRENCE',
    suggestion: 'REFERENCE_NUMBER',
    requestId: 'r1',
    remedy: 'Correct the name of the field.',
    docs: '/docs/errors#UNKNOWN_FIELD',
  };
  const answer: Answering = (response) => response.writeHead(400).end(JSON.stringify(refusal));

  test('says what to do and where that is documented, if the service says so', async () => {
    server.will(answer);
    const failure = await failureOf(client.orders.create({}));
    assert.deepEqual([failure.remedy, failure.docs], [refusal.remedy, refusal.docs]);
    server.will((response) => response.writeHead(400).end('{"code":"UNKNOWN_FIELD"}'));
    const older = await failureOf(client.orders.create({}));
    assert.deepEqual([older.remedy, older.docs], [undefined, undefined]);
  });

  test('as JSON, in a log, has its message and all its members but no secret', async () => {
    server.will(answer);
    const text = JSON.stringify({ failure: await failureOf(client.orders.create({})) });
    assert.deepEqual(JSON.parse(text), {
      failure: {
        name: 'StoreroomError',
        ...refusal,
        message: `UNKNOWN_FIELD: ${refusal.message}`,
        status: 400,
        operation: 'createOrder',
        repeatable: false,
      },
    });
    server.will(hangUp);
    const lost = JSON.stringify(await failureOf(client.orders.create({})));
    assert.match(lost, /"message":"NO_ANSWER: createOrder failed: /);
    assert.ok(!lost.includes('sr_sk_') && !lost.includes('stack'), lost);
  });
});

suite('a value that JSON would change is refused before anything is sent', () => {
  const refuses = async (running: Promise<unknown>, message: string | RegExp): Promise<void> => {
    await assert.rejects(running, { name: 'TypeError', message });
    assert.equal(server.received.length, 0);
  };

  test('NaN and infinite numbers, in records, steps, lines and filters', async () => {
    server.will(succeed());
    const remedy = "Send a finite number, or a decimal text such as '12.5'.";
    const line = { ORDER_NUMBER: '1', QUANTITY: Number('two') };
    await refuses(client.lines.add(line), `QUANTITY of addLineItem is NaN. ${remedy}`);
    await refuses(
      client.orders.update({ ORDER_NUMBER: '1', FREIGHT: 1 / 0 }),
      /^FREIGHT of updateOrder is Infinity\. /,
    );
    await refuses(client.customers.create({ CREDIT_LIMIT: -1 / 0 }), /^CREDIT_LIMIT of createCustomer is -Infinity\. /);
    const steps = [
      { operation: 'createOrder', body: {} },
      { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, UNIT_PRICE: NaN } },
    ] as const;
    await refuses(client.batch(steps), `UNIT_PRICE of addLineItem (step 1 of the batch) is NaN. ${remedy}`);
    const few = client.inventory.query([{ field: 'QTY_ONHAND', op: 'lt', value: NaN }]);
    await refuses(few.first(), `The value of filter 0 on QTY_ONHAND is NaN. ${remedy}`);
    const some = client.inventory.query([{ field: 'QTY_ONHAND', op: 'in', value: [1, NaN] }]);
    await refuses(some.count(), /^The value of filter 0 on QTY_ONHAND is NaN\. /);
    // Nothing is sent, although the first batches have no wrong value.
    const lines = Array.from({ length: 250 }, (_, at) => ({ QUANTITY: at === 249 ? NaN : 1 }));
    await refuses(
      client.orders.createWithLines({}, lines),
      /^QUANTITY of addLineItem \(step 250 of the batch\) is NaN/,
    );
  });

  test('a Date, which has a time and a zone, and a bigint, but nothing else', async () => {
    server.will(succeed());
    // The compiler refuses these values too.
    const day = new Date('2026-11-30T00:00:00Z') as unknown as string;
    const never = new Date('soon') as unknown as string;
    const large = 7n as unknown as number;
    const remedy = "Send a date as text such as '2026-11-30', or a time as its toISOString().";
    await refuses(client.orders.create({ ORDER_DATE: day }), `ORDER_DATE of createOrder is a Date (${day}). ${remedy}`);
    const change = { ORDER_NUMBER: '1', ORDER_DATE: never };
    await refuses(client.orders.update(change), `ORDER_DATE of updateOrder is a Date (Invalid Date). ${remedy}`);
    const since = client.orders.query([{ field: 'MODIFIED_DATE', op: 'ge', value: day }]);
    await refuses(since.first(), `The value of filter 0 on MODIFIED_DATE is a Date (${day}). ${remedy}`);
    await refuses(
      client.orders.create({ FREIGHT: large }),
      "FREIGHT of createOrder is a bigint. Send it as text: '7'.",
    );
    // All other values are sent unchanged.
    const fields = { FREIGHT: -0.5, DROP_SHIP: true, NOTES: null, ORDER_DATE: '2026-11-30', PO_NUMBER: 'NaN' } as const;
    await client.orders.create(fields);
    assert.deepEqual(JSON.parse(server.received[0]!.body), fields);
  });
});
