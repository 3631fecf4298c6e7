/** Tests that answers are compressed for callers that accept it, and for no others. Checks the bytes as they arrive. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { BASE_PATH } from '../kit/service.ts';

const UNPACK = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync };
type Coding = keyof typeof UNPACK;
const CODINGS = Object.keys(UNPACK) as Coding[];
const LEAST = 2048;

const shop = await Shop.shared('packed');
await shop.load(
  'customers',
  times(300, (index) => ({ CUSTOMER_CODE: `${index}`, CUSTOMER_NAME: `Kundin ${index} ${'äß'.repeat(index)}` })),
);

interface Raw {
  readonly status: number;
  readonly headers: Values;
  readonly bytes: Buffer;
}

/** Sends a request with no headers except Host, the credentials, those of a body, and Accept-Encoding if given. */
function ask(method: string, path: string, accepted?: string, body?: unknown): Promise<Raw> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: basicOf(shop.keys),
    ...(sent !== undefined && { 'content-type': 'application/json' }),
    ...(accepted !== undefined && { 'accept-encoding': accepted }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const call = request(`${shop.service.origin}${path}`, { method, headers }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status: response.statusCode!, headers: response.headers as Values, bytes: Buffer.concat(parts) }),
    );
  });
  call.on('error', reject);
  call.end(sent);
  return promise;
}

const QUERY = `${BASE_PATH}/customers/query?teamID=packed&maxReturn=`;
const query = (accepted?: string, maxReturn = 200): Promise<Raw> => ask('POST', QUERY + maxReturn, accepted, []);
const customer = (code: string, accepted?: string): Promise<Raw> =>
  ask('GET', `${BASE_PATH}/customers/single?teamID=packed&customerCode=${code}`, accepted);

/** Compares bytes. deepEqual would take minutes to describe how long ones differ. */
const expectSame = (found: Buffer, expected: Buffer, what: string): void =>
  assert.ok(found.equals(expected), `${what}: other bytes`);

/** Returns the headers without those that differ from call to call. */
const steadyHeaders = ({ headers }: Raw): Values => {
  const { date: _date, 'x-request-id': _id, 'x-month-requests': _count, ...others } = headers;
  return others;
};

// Holds S1.10.
test('each coding decodes to the uncompressed response, with Vary and its own length', async () => {
  const plain = await query();
  assert.ok(plain.bytes.length > 16 * 1024);
  for (const coding of CODINGS) {
    const packed = await query(coding);
    assert.equal(packed.headers['content-encoding'], coding);
    assert.equal(packed.headers['vary'], 'accept-encoding');
    assert.equal(packed.headers['content-length'], String(packed.bytes.length));
    assert.ok(packed.bytes.length < plain.bytes.length / 3, `${coding}: ${packed.bytes.length}`);
    expectSame(UNPACK[coding](packed.bytes), plain.bytes, coding);
  }
});

// Holds S1.10.
test('a caller without Accept-Encoding gets the same bytes and headers as without compression', async () => {
  const plain = await query();
  for (const accepted of ['', 'identity', 'deflate', 'gzip;q=0, br;q=0, zstd;q=0', '*;q=0', 'gzip;q=x', 'gzip;q=2']) {
    const same = await query(accepted);
    assert.deepEqual(steadyHeaders(same), steadyHeaders(plain), accepted);
    expectSame(same.bytes, plain.bytes, accepted);
  }
  assert.equal(plain.headers['vary'], undefined);
  assert.equal(plain.headers['content-encoding'], undefined);
});

// Holds S1.10.
test('the coding with the greatest weight is used, and the fastest among equals', async () => {
  const choices: Record<string, Coding | undefined> = {
    'gzip, deflate': 'gzip',
    'gzip, deflate, br, zstd': 'zstd',
    'gzip, br': 'br',
    'x-gzip': 'gzip',
    'GZip ; Q=0.5': 'gzip',
    'gzip;q=1.0, zstd;q=0.999': 'gzip',
    'br;q=0.001, identity;q=0': 'br',
    'gzip;q=0.5, *;q=0.1': 'gzip',
    '*': 'zstd',
    'zstd;q=0, *': 'br',
    'identity;q=1, gzip;q=0.5': undefined,
    'identity;q=0.5, gzip;q=0.5': 'gzip',
    'gzip;q=0.5;q=1': undefined,
    ',,': undefined,
    [`${'a,'.repeat(1000)}gzip`]: 'gzip',
  };
  for (const [accepted, coding] of Object.entries(choices)) {
    const { status, headers } = await query(accepted, 20);
    assert.deepEqual([status, headers['content-encoding']], [200, coding], accepted.slice(0, 60));
  }
});

// Holds S1.10.
test('a response of 2,047 bytes is not compressed, one of 2,048 is; bytes count, not characters', async () => {
  for (const letter of ['x', 'é']) {
    const code = `size-${letter.codePointAt(0)}`;
    await succeed(shop.createCustomer({ CUSTOMER_CODE: code, NOTES: letter }));
    const { length } = (await customer(code)).bytes;
    const width = Buffer.byteLength(letter);
    const missing = LEAST - 1 - length;
    const notes = letter.repeat(1 + Math.floor(missing / width)) + 'y'.repeat(missing % width);
    await succeed(shop.updateCustomer({ CUSTOMER_CODE: code, NOTES: notes }));
    const below = await customer(code, 'gzip');
    assert.deepEqual([below.bytes.length, below.headers['content-encoding']], [LEAST - 1, undefined]);
    await succeed(shop.updateCustomer({ CUSTOMER_CODE: code, NOTES: `${notes}z` }));
    const [plain, packed] = [await customer(code), await customer(code, 'gzip')];
    assert.deepEqual([plain.bytes.length, packed.headers['content-encoding']], [LEAST, 'gzip']);
    expectSame(gunzipSync(packed.bytes), plain.bytes, code);
  }
});

// Holds S1.10.
test('64 pages at once in every coding are whole, and each caller gets the page it asked for', async () => {
  const sizes = times(64, (index) => 1 + ((index * 37) % 300));
  const plain = new Map<number, Buffer>();
  for (const size of new Set(sizes)) plain.set(size, (await query(undefined, size)).bytes);
  await Promise.all(
    sizes.map(async (size, index) => {
      const { headers, bytes } = await query(CODINGS[index % 3], size);
      const coding = headers['content-encoding'] as Coding | undefined;
      expectSame(coding === undefined ? bytes : UNPACK[coding](bytes), plain.get(size)!, `${size} records`);
    }),
  );
});

test('/openapi.json and /docs are compressed too; HEAD has the headers of GET', async () => {
  for (const [path, codings] of Object.entries({ '/openapi.json': CODINGS, '/docs/': ['gzip' as const] })) {
    const plain = await ask('GET', path);
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const coding of codings) {
      const packed = await ask('GET', path, coding);
      assert.deepEqual([packed.headers['content-encoding'], packed.headers['vary']], [coding, 'accept-encoding']);
      expectSame(UNPACK[coding](packed.bytes), plain.bytes, path);
      const { bytes, ...head } = await ask('HEAD', path, coding);
      assert.equal(bytes.length, 0);
      assert.deepEqual(steadyHeaders({ ...head, bytes }), steadyHeaders(packed), `${path} ${coding}`);
    }
  }
});
