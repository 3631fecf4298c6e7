/** Tests the tools that `storeroom mcp` makes of the contract, the requests that they send, and how answers are cut. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { renderAnswer, type ToolAnswer } from '../../mcp/src/caller.ts';
import { buildRequest, listTools } from '../../mcp/src/tools.ts';
import { Refusal } from '../../src/errors.ts';
import { readOperations, type Contract } from '../../src/http/contract/documented-operations.ts';
import { OPERATION_NAMES } from '../../src/http/operations/names.ts';
import { times, valuesOf } from '../kit/lists.ts';

const contract = JSON.parse(readFileSync('openapi.json', 'utf8')) as Contract;
const operations = readOperations(contract);
const tools = listTools(contract);
const toolOf = (name: string) => tools.find((tool) => tool.name === name)!;

suite('tools', () => {
  test('are the operations of the contract, each once', () => {
    assert.deepEqual(valuesOf(tools, 'name').toSorted(), [...OPERATION_NAMES].toSorted());
  });

  test('say which of them write, which change existing records, and which may be repeated', () => {
    const having = (hint: string, is = true): string[] =>
      tools.filter(({ annotations }) => annotations[hint] === is).map(({ name }) => name);
    const stages = ['approveOrder', 'invoiceOrder', 'voidInvoice'];
    const changes = ['updateLineItem', 'updateOrder', 'cancelOrder', 'updateCustomer', ...stages];
    const others = ['updatePart', 'receiveStock', 'countStock', 'adjustStock', 'batch'];
    const writes = ['createOrder', 'addLineItem', 'createCustomer', 'createPart', 'returnOrder', ...changes, ...others];
    assert.deepEqual(having('readOnlyHint', false).toSorted(), writes.toSorted());
    assert.deepEqual(having('destructiveHint').toSorted(), [...changes, ...others].toSorted());
    assert.deepEqual(
      having('idempotentHint', false).toSorted(),
      writes.filter((name) => !changes.includes(name)).toSorted(),
    );
    assert.deepEqual(
      valuesOf(
        tools.filter(({ isWrite }) => isWrite),
        'name',
      ).toSorted(),
      writes.toSorted(),
    );
  });

  for (const { name, inputSchema } of tools)
    test(`${name} accepts the example of the contract, and has no team or credentials`, () => {
      const { body, parameters } = operations.find((operation) => operation.name === name)!;
      const examples = parameters.filter(
        ({ name: parameter, example }) => parameter !== 'teamID' && example !== undefined,
      );
      const given: Record<string, unknown> = body ? { body: body.example } : {};
      for (const { name: parameter, example } of examples) given[parameter] = example;
      const check = new Ajv2020({ strict: false }).compile(inputSchema);
      assert.ok(check(given), JSON.stringify(check.errors));
      assert.ok(!check({ ...given, teamID: 'other' }));
      assert.doesNotMatch(JSON.stringify(inputSchema), /teamID|apiID|apiSecret|[Cc]redentials|#\/components/);
    });
});

suite('requests', () => {
  test('arguments become query, headers and body; a query without a number asks for 50', () => {
    const body = [{ field: 'SHIP_VIA', value: 'x' }];
    assert.deepEqual(buildRequest(toolOf('queryOrders'), { body, sort: '-CREATE_DATE' }), {
      query: { sort: '-CREATE_DATE', maxReturn: '50' },
      header: {},
      body,
    });
    const update = { body: { ORDER_NUMBER: '1' }, ifMatch: '"a"', idempotencyKey: 'k' };
    const header = { 'If-Match': '"a"', 'Idempotency-Key': 'k' };
    assert.deepEqual(buildRequest(toolOf('updateOrder'), update), { query: {}, header, body: update.body });
    assert.deepEqual(buildRequest(toolOf('getOrder'), { orderNum: 12 }).query, { orderNum: '12' });
  });

  test('credentials, a team, and other unknown arguments are refused by name', () => {
    for (const name of [
      'teamID',
      'apiID',
      'apiSecret',
      'authorization',
      'if-match',
      'body',
      '__proto__',
      'constructor',
    ])
      assert.throws(
        () => buildRequest(toolOf('getOrder'), Object.fromEntries([[name, 'x']])),
        (fault) => fault instanceof Refusal && fault.code === 'UNKNOWN_PARAMETER' && fault.field === name,
      );
    assert.throws(() => buildRequest(toolOf('getOrder'), { orderNum: { a: 1 } }), /orderNum must be a string/);
  });
});

suite('a response', () => {
  const record = fc.record({ NUMBER: fc.string(), NOTES: fc.string({ unit: 'grapheme', maxLength: 3000 }) });
  const answers: fc.Arbitrary<ToolAnswer> = fc.oneof(
    fc.record({ data: fc.array(record, { maxLength: 40 }), nextCursor: fc.constant('c') }),
    fc.record({ data: record, subRecords: fc.array(record, { maxLength: 40 }) }),
    fc.record({ data: fc.record({ orders: fc.array(fc.record({ items: fc.array(record) })) }) }),
  );

  test('is unchanged if it fits, otherwise shortened to its first whole records within the bytes, and says so', () => {
    const check = (answer: ToolAnswer, bytesMax: number): void => {
      const told = renderAnswer(answer, bytesMax);
      const whole = JSON.stringify(answer);
      assert.ok(Buffer.byteLength(told) <= bytesMax);
      if (Buffer.byteLength(whole) <= bytesMax) return assert.equal(told, whole);
      const { cut, data, howToGetTheRest } = JSON.parse(told);
      assert.equal(cut.bytesMost, bytesMax);
      assert.ok(cut.lists.length > 0 || cut.textsAfterCharacters > 0);
      assert.match(howToGetTheRest, /fields/);
      if (!Array.isArray(data) || cut.textsAfterCharacters !== undefined) return;
      assert.deepEqual(data, (answer.data as unknown[]).slice(0, data.length));
    };
    fc.assert(fc.property(answers, fc.integer({ min: 2000, max: 30_000 }), check), { numRuns: 300 });
  });

  test('in a script of three bytes per character is shortened by its bytes, and keeps whole records', () => {
    const name = '東京都千代田区丸の内商店株式会社';
    const page = { data: times(300, (index) => ({ CUSTOMER_CODE: String(index), CUSTOMER_NAME: name.repeat(4) })) };
    const single = { data: Object.fromEntries(times(100, (index) => [`FIELD_${index}`, name.repeat(12)])) };
    const tell = (answer: ToolAnswer, bytesMax: number) => {
      const told = renderAnswer(answer, bytesMax);
      assert.ok(Buffer.byteLength(told) <= bytesMax, `${Buffer.byteLength(told)} of ${bytesMax} bytes`);
      return JSON.parse(told);
    };
    assert.ok(tell(page, 20_000).data?.length > 50, 'few records or none are left');
    // These answers have fewer characters, but more bytes, than the limit.
    assert.ok(tell(page, 50_000).data?.length > 150, 'few records or none are left');
    assert.equal(tell(single, 50_000).data, null);
  });

  test('of a shortened page has no cursor, which would skip records, and says what to request', () => {
    const data = times(100, (index) => ({ NUMBER: String(index), NOTES: 'x'.repeat(100) }));
    const told = JSON.parse(renderAnswer({ data, nextCursor: 'after-100', totalCount: 500 }, 4000));
    assert.equal('nextCursor' in told, false);
    assert.equal(told.totalCount, 500);
    assert.deepEqual(told.cut.lists, [{ list: 'data', shown: told.data.length, of: 100 }]);
    assert.ok(told.howToGetTheRest.includes(`maxReturn "${told.data.length}"`));
  });
});
