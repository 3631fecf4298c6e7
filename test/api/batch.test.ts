/** Tests `POST /batch`: several writes in one transaction, with the rules of the single calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times, valuesOf } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import type { Answer, Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';

const STORMS = trials('BATCH_STORMS', { quick: 3, all: 50 });
const QUOTAS = trials('BATCH_QUOTAS', { quick: 3, all: 10 });

type Step = readonly [operation: string, body: Record<string, unknown>];

const shop = await Shop.shared('batch');
const { service } = shop;
await shop.load('inventory', [
  { PART_CODE: 'P1', PART_DESCRIPTION: 'Part one', QTY_ONHAND: '100' },
  { PART_CODE: 'P2', PART_DESCRIPTION: '$5 part', QTY_ONHAND: '10' },
]);

const send = (body: unknown, { keys = shop.keys, key }: { keys?: Keys; key?: string } = {}): Promise<Answer> =>
  service.call(keys, 'POST', '/batch', { body, headers: key === undefined ? {} : { 'idempotency-key': key } });
const stepsOf = (...steps: Step[]): object[] => steps.map(([operation, body]) => ({ operation, body }));
/** Sends a batch that must succeed, and returns the data of its steps. */
async function run<T = Values>(...steps: Step[]): Promise<T[]> {
  const data = await succeed<{ status: string; data: T; subRecords: null }[]>(send(stepsOf(...steps)));
  for (const answer of data) assert.deepEqual(Object.keys(answer), ['status', 'data', 'subRecords']);
  for (const { status, subRecords } of data) assert.deepEqual([status, subRecords], ['success', null]);
  return valuesOf(data, 'data');
}

/** Steps that make an order. They can also be sent as single calls. */
const ORDER: Step[] = [
  ['createCustomer', { CUSTOMER_NAME: 'A buyer' }],
  ['createOrder', { CUSTOMER_CODE: '$0.data', ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#7' }],
  ['addLineItem', { ORDER_NUMBER: '$1.data', PART_CODE: 'P1', QUANTITY: 3 }],
  ['addLineItem', { ORDER_NUMBER: '$1.data', PART_CODE: 'P1', QUANTITY: '2', UNIT_PRICE: 9.5 }],
  [
    'updateLineItem',
    { ORDER_NUMBER: '$1.data', LINE_REF_LOCK_CODE: '$2.data.LINE_REF_LOCK_CODE', QUANTITY: '1', DESCRIPTION: 'Fewer' },
  ],
  ['updateCustomer', { CUSTOMER_CODE: '$0.data', NOTES: '$3.data.LINE_NUMBER' }],
  ['updateOrder', { ORDER_NUMBER: '$1.data', NOTES: '$4.data.DESCRIPTION', FREIGHT: '5' }],
];
const PATHS: Record<string, readonly [method: string, path: string]> = {
  createOrder: ['PUT', '/orders/create'],
  addLineItem: ['PUT', '/orders/line_item'],
  updateLineItem: ['POST', '/orders/line_item'],
  updateOrder: ['POST', '/orders/update'],
  createCustomer: ['PUT', '/customers/create'],
  updateCustomer: ['POST', '/customers/update'],
};
const callSingly = (other: Shop, [operation, body]: Step): Promise<Answer> =>
  service.call(other.keys, ...PATHS[operation]!, { body });

/** Returns a text without lock codes, times and white space, so that texts of two tenants can be compared. */
const alike = (text: string): string =>
  text.replaceAll(/"LINE_REF_LOCK_CODE": ?"[^"]+"|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…').replaceAll(/\s/g, '');

// Holds S10.1, S10.5, S10.6.
test('200 a batch has the same results and effects as its steps sent as single calls, in order', async () => {
  const [together, apart] = [await Shop.open(service, 'together'), await Shop.open(service, 'apart')];
  for (const one of [together, apart]) await one.load('inventory', [{ PART_CODE: 'P1', QTY_ONHAND: '100' }]);
  const answered = await send(stepsOf(...ORDER), { keys: together.keys });
  const data: unknown[] = [];
  for (const [operation, body] of ORDER) {
    const filled = JSON.stringify(body).replaceAll(/\$(\d)\.data(?:\.(\w+))?/g, (_, step, field) => {
      const of = data[Number(step)];
      return field === undefined ? (of as string) : (of as Values)[field as string]!;
    });
    data.push(await succeed(callSingly(apart, [operation, JSON.parse(filled) as Step[1]])));
  }
  const envelopes = data.map((one) => ({ status: 'success', data: one, subRecords: null }));
  assert.equal(
    alike(answered.text),
    alike(JSON.stringify({ status: 'success', data: envelopes, subRecords: null })),
    'an envelope for each step',
  );
  assert.equal(alike(await together.everything()), alike(await apart.everything()));
  const { QTY_COMMITTED, QTY_AVAILABLE } = (await together.getInventoryItem('P1')).body.data;
  assert.deepEqual([QTY_COMMITTED, QTY_AVAILABLE], ['3', '97']);
});

// Holds S10.3, S10.4.
test('200 $N.data is replaced by the data of step N, $N.data.FIELD by a field of it, $$ by a literal $', async () => {
  const [order, line, own, changed] = await run<Values & string>(
    ['createOrder', { NOTES: '$$0.data', BNAME: '$$', BCITY: '$$$', SNAME: 'costs $5' }],
    ['addLineItem', { ORDER_NUMBER: '$0.data', PART_CODE: 'P2' }],
    [
      'createCustomer',
      { CUSTOMER_CODE: '$$own', CUSTOMER_NAME: '$1.data.DESCRIPTION', NOTES: '$1.data.SERIAL_NUMBERS' },
    ],
    ['updateCustomer', { CUSTOMER_CODE: '$2.data', BCITY: '$1.data.ORDER_NUMBER' }],
  );
  const { NOTES, BNAME, BCITY, SNAME } = await shop.order(order!);
  assert.deepEqual([NOTES, BNAME, BCITY, SNAME], ['$0.data', '$', '$$', 'costs $5']);
  assert.deepEqual([line!['ORDER_NUMBER'], own, changed], [order, '$own', '$own']);
  const customer = (await shop.getCustomer('$own')).body.data as Values;
  assert.deepEqual([customer['CUSTOMER_NAME'], customer['NOTES'], customer['BCITY']], ['$5 part', '', order]);
  const long = `$$${'x'.repeat(8191)}`;
  assert.deepEqual(await run(['updateCustomer', { CUSTOMER_CODE: '$$own', NOTES: long }]), ['$own']);
  assert.equal((await shop.getCustomer('$own')).body.data.NOTES, long.slice(1), '8,192 characters');
});

// Holds S10.1, S10.4.
test('400 INVALID_REFERENCE for any other string that begins with $; nothing is written', async () => {
  const [first, second]: Step[] = [
    ['createOrder', {}],
    ['addLineItem', { ORDER_NUMBER: '$0.data' }],
  ];
  const wrong = [
    '$',
    '$x',
    '$0',
    '$0.',
    '$0.datA',
    '$0.data.',
    '$00.data',
    '$-1.data',
    '$0.data ',
    ' $0.data'.trim() + 's',
  ]
    .concat('$0.data.ORDER_NUMBER', '$1.data', '$1.data.NONE', '$1.data.toString', '$2.data', '$3.data', '$100.data')
    .concat('$0 .data', '${0.data}');
  const before = await shop.everything();
  for (const value of wrong) {
    const steps = stepsOf(first!, second!, ['createOrder', { NOTES: value }]);
    const refused = await send(steps);
    expectRefusal(refused, 400, 'INVALID_REFERENCE', 'NOTES');
    assert.equal(refused.body.step, 2, value);
  }
  assert.equal(await shop.everything(), before);
  for (const part of ['ORDER_NUMBER', 'QUANTITY'])
    expectRefusal(
      await send(stepsOf(['addLineItem', { ORDER_NUMBER: '1', [part]: '$0' }])),
      400,
      'INVALID_REFERENCE',
      part,
    );
});

test('400 INVALID_REFERENCE when the references of a batch expand to more than 256 Ki characters', async () => {
  const [order] = await run<string>(['createOrder', {}]);
  const steps: Step[] = [['addLineItem', { ORDER_NUMBER: order, DESCRIPTION: 'x'.repeat(8192) }]];
  const copy: Step = ['createCustomer', { CUSTOMER_NAME: '$0.data.DESCRIPTION' }];
  await run(...steps, ...times(32, () => copy));
  const refused = await send(stepsOf(...steps, ...times(33, () => copy)));
  expectRefusal(refused, 400, 'INVALID_REFERENCE', 'CUSTOMER_NAME');
  assert.equal(refused.body.step, 33);
});

const GOOD = { operation: 'createOrder', body: {} };

// Holds S10.1, S10.2.
test('400 INVALID_BODY for a body that is not a list of steps, or a step with unknown members or no body', async () => {
  const before = await shop.everything();
  for (const body of [{}, 'null', '"x"', '1', [], { steps: [GOOD] }])
    expectRefusal(await send(body), 400, 'INVALID_BODY');
  const steps: [unknown, string][] = [
    [null, ''],
    ['createOrder', ''],
    [[], ''],
    [{ body: {} }, 'operation'],
    [{ operation: 7, body: {} }, 'operation'],
    [{ operation: 'createOrder' }, 'body'],
    [{ operation: 'createOrder', body: null }, 'body'],
    [{ operation: 'createOrder', body: [] }, 'body'],
    [{ operation: 'createOrder', body: '{}' }, 'body'],
    [{ ...GOOD, ifMatch: 'x' }, 'ifMatch'],
  ];
  for (const [step, field] of steps) {
    const refused = await send([GOOD, step]);
    expectRefusal(refused, 400, 'INVALID_BODY', field);
    assert.equal(refused.body.step, 1);
  }
  assert.equal(await shop.everything(), before);
});

// Holds S10.1.
test('400 BATCH_TOO_LONG for more than 100 steps; 100 are accepted', async () => {
  const before = await shop.everything();
  expectRefusal(await send(times(101, () => GOOD)), 400, 'BATCH_TOO_LONG');
  assert.equal(await shop.everything(), before);
  const numbers = await run<string>(...times(100, (): Step => ['createOrder', {}]));
  assert.equal(new Set(numbers).size, 100);
});

test('400 INVALID_VALUE for an order number with a NUL, also in the second of two steps that release stock', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  const cancel = (number: string) => ({ operation: 'cancelOrder', body: { ORDER_NUMBER: number } });
  const dropShip = { operation: 'updateOrder', body: { ORDER_NUMBER: '\0', DROP_SHIP: 'Y' } };
  for (const [first, second, step] of [
    [cancel('\0'), cancel('\0'), 0],
    [dropShip, cancel('\0'), 0],
    [cancel(ORDER_NUMBER), cancel('\0'), 1],
    [cancel(ORDER_NUMBER), dropShip, 1],
  ] as const) {
    const refused = await send([first, second]);
    expectRefusal(refused, 400, 'INVALID_VALUE', 'ORDER_NUMBER');
    assert.equal(refused.body.step, step);
  }
});

// Holds S10.1.
test('400 UNKNOWN_OPERATION for every step but the exact name of a write of records', async () => {
  const before = await shop.everything();
  const others = ['getOrder', 'queryOrders', 'getUsage', 'batch', 'createorder', 'approve', '', 'toString'];
  for (const operation of others) {
    const refused = await send([GOOD, { operation, body: {} }]);
    assert.match(expectRefusal(refused, 400, 'UNKNOWN_OPERATION', 'operation'), /createOrder, addLineItem/);
    assert.equal(refused.body.step, 1);
  }
  assert.equal(await shop.everything(), before);
});

/** Steps that are refused, each for a different reason. */
const REFUSED: Step[] = [
  ['createOrder', { NO_SUCH: '1' }],
  ['createOrder', { ORDER_NUMBER: '5' }],
  ['createOrder', { ORDER_TYPE: 'invoice' }],
  ['createOrder', { NOTES: { a: 1 } }],
  ['createOrder', { NOTES: 'x'.repeat(8193) }],
  ['createOrder', { FUNCTION: 'x', teamID: undefined }],
  ['createOrder', Object.fromEntries(times(513, (index) => [`F${index}`, '']))],
  ['addLineItem', {}],
  ['addLineItem', { ORDER_NUMBER: 'none' }],
  ['addLineItem', { ORDER_NUMBER: '' }],
  ['addLineItem', { ORDER_NUMBER: 'none', QUANTITY: 'many' }],
  ['updateLineItem', { ORDER_NUMBER: 'none', LINE_REF_LOCK_CODE: 'x' }],
  ['createCustomer', { CUSTOMER_CODE: 'taken' }],
  ['createCustomer', { CREDIT_LIMIT: 'much' }],
  ['updateCustomer', { CUSTOMER_CODE: 'none' }],
];

// Holds S10.5, S10.7.
test('a refusal has the status and body of the refused single call, with its step; nothing is written', async () => {
  await run(['createCustomer', { CUSTOMER_CODE: 'taken' }]);
  const before = await shop.everything();
  for (const step of REFUSED) {
    const single = await callSingly(shop, step);
    for (const at of [0, 3]) {
      const others = stepsOf(
        ['createOrder', {}],
        ['addLineItem', { ORDER_NUMBER: '$0.data', PART_CODE: 'P1', QUANTITY: '7' }],
        ['createCustomer', {}],
      );
      const steps = at === 0 ? [...stepsOf(step), ...others] : [...others, ...stepsOf(step), ...stepsOf(step)];
      const { status, body } = await send(steps);
      assert.equal(status, single.status);
      const { requestId: _, ...expected } = single.body as Values;
      const { requestId, step: refused, ...rest } = body as Values;
      assert.deepEqual([rest, refused], [expected, at], JSON.stringify(step).slice(0, 200));
      assert.ok(requestId);
    }
  }
  assert.equal(await shop.everything(), before);
});

// Holds S10.7.
test('no number is assigned twice, even if steps between are refused', async () => {
  const taken: string[] = [];
  const lost = stepsOf(['createOrder', {}], ['createCustomer', {}], ['addLineItem', { ORDER_NUMBER: 'none' }]);
  for (let round = 0; round < 3; round++) {
    const [, ...answers] = await Promise.all([
      send(lost),
      run<string>(['createOrder', {}], ['createOrder', {}]),
      succeed<string>(shop.createOrder({})),
      send(lost),
      run<string>(['createOrder', {}]),
    ]);
    for (const answer of answers)
      if (Array.isArray(answer) || typeof answer === 'string') taken.push(...[answer].flat());
  }
  assert.deepEqual([taken.length, new Set(taken).size], [12, 12]);
  for (const number of taken) assert.equal((await shop.order(number))['ORDER_NUMBER'], number);
});

const monthRequests = ({ headers }: Answer): number => Number(headers.get('x-month-requests'));
const countsOf = async (teamID: string): Promise<Record<string, number>> => {
  const { byOperation } = await shop.run<{ byOperation: { operation: string; calls: number }[] }>('usage', teamID);
  return Object.fromEntries(byOperation.map(({ operation, calls }) => [operation, calls]));
};

// Holds S10.8.
test('each step counts as one call of its operation, whether it succeeds, is refused or is replayed', async () => {
  const keys = await service.makeTenant('metered');
  const steps = stepsOf(['createOrder', {}], ['addLineItem', { ORDER_NUMBER: '$0.data' }], ['createOrder', {}]);
  const totals = [
    await send(steps, { keys, key: 'a' }),
    await send(steps, { keys, key: 'a' }),
    await send([...steps, ...stepsOf(['updateCustomer', { CUSTOMER_CODE: 'none' }])], { keys }),
    await send(stepsOf(['createOrder', { NOTES: '$9.data' }]), { keys }),
  ];
  assert.deepEqual(valuesOf(totals, 'status'), [200, 200, 400, 400]);
  assert.equal(totals[1]!.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(totals.map(monthRequests), [3, 6, 10, 11]);
  assert.deepEqual(await countsOf('metered'), { createOrder: 7, addLineItem: 3, updateCustomer: 1 });
  assert.equal(await service.usageOf('metered'), 11);
});

// Holds S10.8.
test('a batch that is refused before its first step runs counts as one call of batch', async () => {
  const keys = await service.makeTenant('unmetered');
  const calls: [Promise<Answer> | Answer, number][] = [
    [await send({}, { keys }), 400],
    [await send('[', { keys }), 400],
    [await send([], { keys }), 400],
    [
      await send(
        times(101, () => GOOD),
        { keys },
      ),
      400,
    ],
    [await send([GOOD, { ...GOOD, more: 1 }], { keys }), 400],
    [await send([GOOD, { operation: 'getOrder', body: {} }], { keys }), 400],
    [await send([GOOD, GOOD], { keys, key: 'a b' }), 400],
    [await service.call(keys, 'POST', '/batch', { body: [GOOD, GOOD], query: { noSuch: '1' } }), 400],
    [await service.call(keys, 'POST', '/batch', { body: [GOOD], headers: { 'content-type': 'text/plain' } }), 415],
  ];
  for (const [at, [answer, status]] of calls.entries()) {
    const { status: told, text, ...given } = await answer;
    assert.deepEqual([told, monthRequests({ status: told, text, ...given })], [status, at + 1], text);
  }
  assert.deepEqual(await countsOf('unmetered'), { batch: calls.length });
});

// Holds S10.11.
test('429 QUOTA_EXCEEDED for a whole batch whose steps would exceed the quota; it counts as one call', async () => {
  const keys = await service.makeTenant('quota-batch', '--quota', '10');
  assert.equal(
    (
      await send(
        times(6, () => GOOD),
        { keys },
      )
    ).status,
    200,
  );
  const refused = await send(
    times(5, () => GOOD),
    { keys },
  );
  assert.match(expectRefusal(refused, 429, 'QUOTA_EXCEEDED'), /has 4 left/);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(monthRequests(refused), 7);
  assert.equal(
    (
      await send(
        times(3, () => GOOD),
        { keys },
      )
    ).status,
    200,
    'exactly the rest is taken',
  );
  assert.deepEqual(await countsOf('quota-batch'), { batch: 1, createOrder: 9 });
  expectRefusal(await send([GOOD], { keys }), 429, 'QUOTA_EXCEEDED');
});

// Holds S10.11.
test('429 QUOTA_EXCEEDED batches sent at once use exactly the quota, and each runs whole or not at all', async () => {
  const keys = await service.makeTenant('quota-storm', '--quota', '200');
  const answers = await Promise.all(
    times(40, () =>
      send(
        times(10, () => GOOD),
        { keys },
      ),
    ),
  );
  const taken = answers.filter(({ status }) => status === 200).length;
  for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 429, 'QUOTA_EXCEEDED');
  await service.command('tenant', 'set', 'quota-storm', '--quota', 'none');
  assert.ok(taken === 20, `${taken} batches were taken`);
  assert.deepEqual(await countsOf('quota-storm'), { batch: 40 - taken, createOrder: 10 * taken });
  const { body } = await service.call(keys, 'POST', '/orders/query', { body: [] });
  assert.equal(body.data.length, 10 * taken);
});

test('429 QUOTA_EXCEEDED also after single calls: no step of a refused batch is counted', async () => {
  const steps = times(10, () => ({ operation: 'createCustomer', body: {} }));
  const keys = await service.makeTenant('quota-mix');
  let [taken, refused] = [0, 0];
  // Each round ends with batches that exceed the quota from the start, or because single calls use it up first.
  for (const round of range(QUOTAS)) {
    const room = 40 + 3 * round;
    const quota = String((await service.usageOf('quota-mix')) + room);
    await service.command('tenant', 'set', 'quota-mix', '--quota', quota);
    let used = 0;
    const single = async (): Promise<void> => {
      for (; (await service.call(keys, 'PUT', '/orders/create', { body: {} })).status === 200; used++);
    };
    const together = async (): Promise<void> => {
      for (; (await send(steps, { keys })).status === 200; used += 10) taken++;
      refused++;
    };
    await Promise.all([...times(2 + round, single), ...times(3, together)]);
    assert.ok(used <= room, `${used} calls, where ${room} were left`);
  }
  await service.command('tenant', 'set', 'quota-mix', '--quota', 'none');
  const counts = await countsOf('quota-mix');
  assert.deepEqual([counts['createCustomer'], counts['batch']], [10 * taken, refused]);
  const { body } = await service.call(keys, 'POST', '/customers/query', { body: [] });
  assert.equal(body.data.length, 10 * taken);
});

// Holds S3.13, S10.11.
test('400 BATCH_TOO_LONG for more steps than the monthly quota', async () => {
  const keys = await service.makeTenant('quota-long', '--quota', '3');
  const refused = await send(
    times(4, () => GOOD),
    { keys },
  );
  assert.match(expectRefusal(refused, 400, 'BATCH_TOO_LONG'), /at most 3 steps, not 4/);
  assert.equal(refused.headers.get('retry-after'), null);
});

// Holds S3.13, S10.11.
test('429 RATE_LIMITED for a whole batch whose steps exceed the rate; BATCH_TOO_LONG if they always would', async () => {
  const keys = await service.makeTenant('rate-batch', '--rate', '5');
  const refused = await send(
    times(11, () => GOOD),
    { keys },
  );
  assert.match(expectRefusal(refused, 400, 'BATCH_TOO_LONG'), /at most 10 steps, not 11/);
  assert.equal(refused.headers.get('retry-after'), null);
  assert.match(refused.headers.get('ratelimit-policy')!, /^"rate";q=10;w=2$/);
  assert.equal(
    (
      await send(
        times(8, () => GOOD),
        { keys },
      )
    ).status,
    200,
  );
  expectRefusal(
    await send(
      times(10, () => GOOD),
      { keys },
    ),
    429,
    'RATE_LIMITED',
  );
  await service.command('tenant', 'set', 'rate-batch', '--rate', 'none');
  assert.deepEqual(await countsOf('rate-batch'), { batch: 2, createOrder: 8 });
});

// Holds S10.9.
test('an Idempotency-Key covers a whole batch: a retry gets the same response, another batch is refused', async () => {
  const steps = stepsOf(...ORDER);
  const first = await send(steps, { key: 'whole' });
  assert.deepEqual([first.status, first.headers.has('idempotent-replayed')], [200, false]);
  const records = await shop.everything();
  const turned = steps.map((step) => Object.fromEntries(Object.entries(step).toReversed()));
  for (const body of [steps, turned]) {
    const again = await send(body, { key: 'whole' });
    assert.deepEqual([again.status, again.text, again.headers.get('idempotent-replayed')], [200, first.text, 'true']);
  }
  const otherwise = steps.with(5, { ...steps[5], operation: 'createCustomer' });
  for (const body of [steps.slice(0, 5), [...steps, GOOD], [GOOD], steps.with(5, GOOD), otherwise])
    expectRefusal(await send(body, { key: 'whole' }), 422, 'IDEMPOTENCY_KEY_REUSED');
  assert.equal(await shop.everything(), records);
  const single = await service.call(shop.keys, 'PUT', '/orders/create', {
    body: {},
    headers: { 'idempotency-key': 'whole' },
  });
  assert.equal(single.headers.has('idempotent-replayed'), false, 'a key of another operation');
});

// Holds S10.9.
test('a refused batch leaves its key free', async () => {
  const wrong = stepsOf(['createOrder', {}], ['addLineItem', { ORDER_NUMBER: 'later' }]);
  expectRefusal(await send(wrong, { key: 'free' }), 400, 'ORDER_NOT_FOUND');
  const done = await send(stepsOf(['createOrder', {}], ['addLineItem', { ORDER_NUMBER: '$0.data' }]), { key: 'free' });
  assert.deepEqual([done.status, done.headers.has('idempotent-replayed')], [200, false], done.text);
});

// Holds S10.9.
test('64 clients that send the same batch under one key create its order once, with all its lines', async () => {
  const keys = await service.makeTenant('storm-batch');
  const orderOf = (key: string) =>
    stepsOf(
      ['createOrder', { REFERENCE_NUMBER: key }],
      ...times(5, (line): Step => ['addLineItem', { ORDER_NUMBER: '$0.data', DESCRIPTION: `${key} ${line}` }]),
    );
  for (const storm of range(STORMS)) {
    const key = `storm-${storm}`;
    const answers = await Promise.all(times(64, () => send(orderOf(key), { keys, key })));
    const done = answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotent-replayed'));
    assert.equal(done.length, 1);
    for (const answer of answers)
      if (answer.status === 200) assert.equal(answer.text, done[0]!.text);
      else expectRefusal(answer, 409, 'IDEMPOTENCY_KEY_RUNNING');
    const number = done[0]!.body.data[0].data as string;
    const { body } = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: number } });
    assert.deepEqual(
      (body.subRecords as { ORDER_LINEITEMS: Values }[]).map((line) => line.ORDER_LINEITEMS['DESCRIPTION']),
      times(5, (line) => `${key} ${line}`),
    );
  }
  const { body } = await service.call(keys, 'POST', '/orders/query', { body: [] });
  assert.deepEqual(
    (body.data as Values[]).map((order) => order['REFERENCE_NUMBER']),
    range(STORMS).map((storm) => `storm-${storm}`),
  );
});

// Holds S10.10.
test('413 a batch may have 1 MiB, every other body 256 KiB', async () => {
  const notes = 'n'.repeat(8000);
  const steps = stepsOf(...times(100, (): Step => ['createCustomer', { NOTES: notes, BNAME: 'b'.repeat(2400) }]));
  const padded = (bytes: number): string => JSON.stringify(steps).padEnd(bytes);
  const most = 1024 * 1024;
  assert.ok(padded(0).length < most);
  const taken = await send(padded(most));
  assert.equal(taken.status, 200, taken.text.slice(0, 200));
  expectRefusal(await send(padded(most + 1)), 413, 'BODY_TOO_LARGE');
  const large = JSON.stringify({ NOTES: notes }).padEnd(256 * 1024 + 1);
  expectRefusal(await service.call(shop.keys, 'PUT', '/customers/create', { body: large }), 413, 'BODY_TOO_LARGE');
});

test('400 BATCH_TOO_LONG when the results of the steps are longer than 4 Mi characters', async () => {
  const [order, line] = await run<Values & string>(['createOrder', {}], ['addLineItem', { ORDER_NUMBER: '$0.data' }]);
  const names = range(6).map((number) => `WIDE_${number}`);
  for (const name of names) await shop.run('fields', 'add', 'batch', 'lines', name, '--type', 'text');
  const values = Object.fromEntries(['DESCRIPTION', ...names].map((name) => [name, 'y'.repeat(8000)]));
  const named = { ORDER_NUMBER: order!, LINE_REF_LOCK_CODE: line!['LINE_REF_LOCK_CODE'] };
  await run(['updateLineItem', { ...named, ...values }]);
  const change = (index: number): Step => ['updateLineItem', { ...named, QUANTITY: String(index) }];
  await run(...times(70, change));
  const refused = await send(stepsOf(...times(100, change)));
  expectRefusal(refused, 400, 'BATCH_TOO_LONG');
  assert.ok(refused.body.step > 70);
  assert.equal((await shop.lines(order!))[0]!['QUANTITY'], '69');
});
