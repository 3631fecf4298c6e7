/** Tests the order of the checks (teamID, credentials, the count, all others) with every fault in every operation. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { basicOf, bodyOf, stockShop, type GoodCall } from '../kit/operations.ts';
import { send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { BASE_PATH, sharedService } from '../kit/service.ts';

const service = await sharedService();
const shop = await stockShop(service, 'shop');
let counted = await service.usageOf('shop');

/** A fault of an otherwise valid call, and the answer to it if the caller is known. */
interface Fault {
  readonly what: string;
  readonly expected: string;
  /** Parameters to add or replace; undefined removes one. */
  readonly query?: Record<string, string | undefined>;
  readonly twice?: string;
  readonly lines?: readonly string[];
  readonly type?: string;
  readonly body?: string | Buffer;
}

const JSON_LINE = 'Content-Type: application/json';
const FOR_ALL: Fault[] = [
  { what: 'an unknown parameter', query: { noSuch: '1' }, expected: '400 UNKNOWN_PARAMETER' },
  { what: 'two values for one', query: { noSuch: '1' }, twice: 'noSuch', expected: '400 PARAMETER_CONFLICT' },
];
const PACKED = { lines: ['Content-Encoding: gzip'], body: gzipSync('{}') };
const FOR_BODIES: Fault[] = [
  { what: 'no JSON', body: '{"NOTES": ', expected: '400 INVALID_JSON' },
  { what: 'no UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), expected: '400 INVALID_JSON' },
  { what: 'a number too long to keep', body: '{"NOTES": 123456789012345678901}', expected: '400 INVALID_VALUE' },
  { what: 'no body', body: '', expected: '400 INVALID_BODY' },
  { what: 'a string for a body', body: '"text"', expected: '400 INVALID_BODY' },
  { what: 'a body nested too deeply', body: '['.repeat(50_000) + ']'.repeat(50_000), expected: '400 INVALID_BODY' },
  { what: 'a body of another type', type: 'Content-Type: text/plain', expected: '415 UNSUPPORTED_MEDIA_TYPE' },
  { what: 'a body of no type', type: 'X-Type: none', expected: '415 UNSUPPORTED_MEDIA_TYPE' },
  { what: 'a packed body', ...PACKED, expected: '415 UNSUPPORTED_MEDIA_TYPE' },
  { what: 'too large a body', body: ' '.repeat(256 * 1024 + 1), expected: '413 BODY_TOO_LARGE' },
];
const FOR_SINGLES: Fault[] = [{ what: 'a body', lines: [JSON_LINE], body: '{}', expected: '400 BODY_NOT_ALLOWED' }];
const FILTERS = JSON.stringify(times(51, () => ({ field: 'NOTES', value: '1' })));
const FOR_QUERIES: Fault[] = [
  { what: 'an object for a body', body: '{}', expected: '400 INVALID_BODY' },
  { what: 'an unknown field', body: '[{"field":"NO_SUCH","value":"1"}]', expected: '400 UNKNOWN_FIELD' },
  { what: 'a filter on FUNCTION', body: '[{"field":"FUNCTION","value":"1"}]', expected: '400 FIELD_NOT_ALLOWED' },
  { what: 'an unreadable filter', body: '[{"field":1}]', expected: '400 INVALID_FILTER' },
  { what: 'too many filters', body: FILTERS, expected: '400 TOO_MANY_FILTERS' },
  { what: 'a maxReturn of 0', query: { maxReturn: '0' }, expected: '400 INVALID_PARAMETER' },
  { what: 'an invented cursor', query: { cursor: 'x' }, expected: '400 INVALID_CURSOR' },
];
const FOR_WRITES: Fault[] = [
  { what: 'a list for a body', body: '[]', expected: '400 INVALID_BODY' },
  { what: 'an unreadable Idempotency-Key', lines: ['Idempotency-Key: a b'], expected: '400 INVALID_IDEMPOTENCY_KEY' },
];

/** Returns the faults of one operation: a missing or unknown key of a record, and fields that it refuses. */
function faultsOfItsOwn({ operation, kind, query, fields = {} }: GoodCall): Fault[] {
  const [parameter] = Object.keys(query);
  if (parameter !== undefined) {
    const code = '400 MISSING_PARAMETER';
    const missing = { what: 'its parameter missing', query: { [parameter]: undefined }, expected: code };
    const empty = { what: 'its parameter empty', query: { [parameter]: '' }, expected: code };
    const unknown = { what: 'a record that does not exist', query: { [parameter]: 'none' }, expected: '404 NOT_FOUND' };
    return operation === 'findOrdersByStorefrontReference' ? [missing, empty] : [missing, empty, unknown];
  }
  if (kind === 'query') return [];
  const key = Object.keys(fields).find((name) => /^(ORDER_NUMBER|CUSTOMER_CODE)$/.test(name));
  const bodyWith = (more: object): string => JSON.stringify({ ...fields, ...more });
  const faults = [
    { what: 'an unknown field', body: bodyWith({ NO_SUCH: '1' }), expected: '400 UNKNOWN_FIELD' },
    { what: 'an object for a value', body: bodyWith({ NOTES: {} }), expected: '400 INVALID_VALUE' },
    { what: 'FUNCTION', body: bodyWith({ FUNCTION: '1' }), expected: '400 FIELD_NOT_ALLOWED' },
  ];
  if (key === undefined) return faults;
  const notFound = `400 ${key.split('_')[0]}_NOT_FOUND`;
  return [
    ...faults,
    { what: 'its key missing', body: bodyWith({ [key]: undefined }), expected: '400 MISSING_FIELD' },
    { what: 'a key that does not exist', body: bodyWith({ [key]: 'none' }), expected: notFound },
  ];
}

function faultsOf(call: GoodCall): Fault[] {
  const forWrites = [...FOR_BODIES, ...FOR_WRITES];
  const byKind = { single: FOR_SINGLES, query: [...FOR_BODIES, ...FOR_QUERIES], write: forWrites, batch: forWrites };
  return [...FOR_ALL, ...byKind[call.kind], ...faultsOfItsOwn(call)];
}

function request(call: GoodCall, fault: Fault, teamID: string | undefined, authorization: string | undefined): Buffer {
  const parameters = Object.entries({ teamID, ...call.query, ...fault.query }).filter(
    (one): one is [string, string] => one[1] !== undefined,
  );
  if (fault.twice !== undefined) parameters.push([fault.twice, 'another']);
  const lines = [...(authorization === undefined ? [] : [`Authorization: ${authorization}`]), ...(fault.lines ?? [])];
  const sent = bodyOf(call);
  const body = fault.body ?? (sent === undefined ? '' : JSON.stringify(sent));
  if (sent !== undefined) lines.push(fault.type ?? JSON_LINE);
  const target = `${BASE_PATH}${call.path}?${new URLSearchParams(parameters).toString()}`;
  return writeRequest(call.method, target, lines, body);
}

interface Sent {
  readonly name: string;
  readonly fault: Fault;
  readonly answer: RawAnswer;
}

/** Sends every fault to every operation that it fits, and returns the answers. */
async function sendAll(teamID: string | undefined, authorization: string | undefined): Promise<Sent[]> {
  const sent = [];
  for (const call of shop.calls)
    for (const fault of faultsOf(call)) {
      const answer = await send(service.origin, request(call, fault, teamID, authorization));
      sent.push({ name: `${call.operation} with ${fault.what}`, fault, answer });
    }
  return sent;
}

// Holds S3.1.
test('400 a missing teamID is reported before any other error', async () => {
  for (const authorization of [undefined, basicOf(shop.keys)])
    for (const { name, answer } of await sendAll(undefined, authorization)) {
      assert.equal(`${answer.status} ${answer.body.code}`, '400 MISSING_TEAM_ID', name);
      assert.equal(answer.headers.get('x-month-requests'), null, name);
    }
  assert.equal(await service.usageOf('shop'), counted);
});

// Holds S3.2.
test('401 wrong credentials are reported before any other error, by one identical response', async () => {
  const bodies = new Set<string>();
  for (const authorization of [undefined, basicOf({ ...shop.keys, apiSecret: 'wrong' })])
    for (const { name, answer } of await sendAll('shop', authorization)) {
      assert.equal(`${answer.status} ${answer.body.code}`, '401 INVALID_CREDENTIALS', name);
      assert.equal(answer.headers.get('x-month-requests'), null, name);
      bodies.add(answer.text.replace(answer.body.requestId as string, ''));
    }
  assert.equal(bodies.size, 1);
  assert.equal(await service.usageOf('shop'), counted);
});

// Holds S3.3, S3.4.
test('every other error is reported to an authenticated caller, and the call is counted', async () => {
  const sent = await sendAll('shop', basicOf(shop.keys));
  assert.ok(sent.length > 120, `${sent.length} faults`);
  for (const { name, fault, answer } of sent) {
    assert.equal(`${answer.status} ${answer.body.code}`, fault.expected, name);
    assert.equal(answer.headers.get('x-month-requests'), String(++counted), name);
  }
  assert.equal(await service.usageOf('shop'), counted);
});

test('429 a used-up quota is reported before any error but wrong credentials, and the call is counted', async () => {
  await service.command('tenant', 'set', 'shop', '--quota', String(counted));
  for (const { name, answer } of await sendAll('shop', basicOf(shop.keys))) {
    assert.equal(`${answer.status} ${answer.body.code}`, '429 QUOTA_EXCEEDED', name);
    assert.equal(answer.headers.get('x-month-requests'), String(++counted), name);
  }
  await service.command('tenant', 'set', 'shop', '--quota', 'none');
});

// Holds S1.5, S3.5, S3.6.
test('every error of every operation has the same form of body, without internal details', async () => {
  const known = ['status', 'data', 'subRecords', 'message', 'code', 'remedy', 'docs', 'field', 'requestId'];
  for (const authorization of [undefined, basicOf(shop.keys)])
    for (const { name, answer } of await sendAll('shop', authorization)) {
      const { status, data, subRecords, message, code, remedy, docs, field, requestId } = answer.body as Record<
        string,
        unknown
      >;
      const expected = known.filter((one) => one !== 'field' || field !== undefined);
      assert.deepEqual(Object.keys(answer.body as object), expected, name);
      assert.deepEqual([status, data, subRecords], ['error', null, null], name);
      assert.equal(requestId, answer.headers.get('x-request-id'), name);
      assert.match(String(code), /^[A-Z][A-Z_]+$/, name);
      assert.match(String(remedy), /^[A-Z].*\.$/, name);
      assert.equal(docs, `/docs/errors#${String(code)}`, name);
      assert.match(String(message), /^[A-Z'_a-z].*[.!?]$/s, name);
      assert.doesNotMatch(answer.text, /\\n +at |\.ts\b|node:|sqlite|SELECT|stack/i, name);
    }
});
