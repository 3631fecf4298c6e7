/**
 * Tests that secrets stay secret: after calls with right and wrong credentials in every place, and with the most
 * detailed log, nothing that the service wrote or answered contains a secret or half of one, plain or encoded.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { basicOf, bodyOf, stockShop, type GoodCall } from '../kit/operations.ts';
import { send, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService, temporaryFolder, type CallOptions, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';

const CALLS = trials('CALLS', { quick: 1000, all: 5000 });
const CONNECTIONS = 32;
/** Share of calls that are written by hand, each on a separate connection. */
const RAW_SHARE = 0.1;

const service = await ownService({ env: { STOREROOM_LOG_LEVEL: 'debug' } });
const client = await HttpClient.open(service, CONNECTIONS);
const first = await stockShop(service, 'one');
const replaced = first.keys;
const shop = { ...first, keys: (await service.command('keys', 'replace', 'one', '--json')).json() as Keys };

type Change = (keys: Keys, call: GoodCall) => CallOptions & { path?: string };
const inQuery = ({ teamID }: Keys, call: GoodCall, more: Record<string, string>): CallOptions => ({
  query: { teamID, ...call.query, ...more },
  headers: {},
});
const inHeader = (keys: Keys, call: GoodCall, headers: Record<string, string>): CallOptions => ({
  query: { teamID: keys.teamID, ...call.query },
  headers,
});

/** Places of the credentials. Everything else is as in a valid call. */
const PLACES: Record<string, Change> = {
  header: () => ({}),
  query: (keys, call) => inQuery(keys, call, { apiID: keys.apiID, apiSecret: keys.apiSecret }),
  body: (keys, call) => ({ query: call.query, headers: {}, body: { ...call.fields, ...keys } }),
  'body of a query': (keys, call) => ({ query: call.query, headers: {}, body: [keys] }),
  'header and query': (keys, call) => ({ query: { ...call.query, ...keys } }),
  'ID and secret exchanged': (keys, call) =>
    inHeader(keys, call, { authorization: basicOf({ apiID: keys.apiSecret, apiSecret: keys.apiID }) }),
  'secret as the ID': (keys, call) => inQuery(keys, call, { apiID: keys.apiSecret, apiSecret: 'x' }),
  'secret as the team': (keys, call) => ({ query: { ...call.query, teamID: keys.apiSecret } }),
  'secret given twice, differently': (keys, call) => ({
    query: [
      ['teamID', keys.teamID],
      ['apiID', keys.apiID],
      ['apiSecret', keys.apiSecret],
      ['apiSecret', 'x'],
      ...Object.entries(call.query),
    ],
    headers: {},
  }),
  'secret cut short': (keys, call) =>
    inHeader(keys, call, { authorization: basicOf({ ...keys, apiSecret: keys.apiSecret.slice(0, -1) }) }),
  'Basic without base64': (keys, call) =>
    inHeader(keys, call, { authorization: `Basic ${keys.apiID}:${keys.apiSecret}` }),
  'Basic without a colon': (keys, call) =>
    inHeader(keys, call, { authorization: `Basic ${Buffer.from(keys.apiSecret).toString('base64')}` }),
  'Basic with loose base64': (keys, call) => inHeader(keys, call, { authorization: `${basicOf(keys)}!` }),
  Bearer: (keys, call) => inHeader(keys, call, { authorization: `Bearer ${keys.apiSecret}` }),
  'other headers': (keys, call) =>
    inHeader(keys, call, {
      'x-api-key': keys.apiSecret,
      cookie: `s=${keys.apiSecret}`,
      'user-agent': keys.apiSecret,
      'x-request-id': keys.apiSecret,
      'x-forwarded-for': keys.apiSecret,
    }),
  'an unknown parameter': (keys, call) => ({
    query: { teamID: keys.teamID, ...call.query, secret: keys.apiSecret },
  }),
  'the name of a parameter': (keys, call) => ({ query: { teamID: keys.teamID, ...call.query, [keys.apiSecret]: '1' } }),
  'every parameter but the storefront number, which is answered as sent': (keys, call) => {
    const names = [...Object.keys(call.query), 'maxReturn', 'cursor'].filter(
      (name) => name !== 'storefront_order_number',
    );
    return { query: { teamID: keys.teamID, ...Object.fromEntries(names.map((name) => [name, keys.apiSecret])) } };
  },
  'the name of a field': (keys) => ({ body: { [keys.apiSecret]: '1' } }),
  'the value of a field that takes none': (keys) => ({
    body: { LINE_NUMBER: keys.apiSecret, QUANTITY: keys.apiSecret, ORDER_DATE: keys.apiSecret },
  }),
  'the number of an order': (keys) => ({ body: { ORDER_NUMBER: keys.apiSecret, LINE_REF_LOCK_CODE: keys.apiSecret } }),
  'the code of a customer': (keys) => ({ body: { CUSTOMER_CODE: keys.apiSecret, CREDIT_LIMIT: keys.apiSecret } }),
  'a filter': (keys) => ({ body: [{ field: keys.apiSecret, value: keys.apiSecret }] }),
  'the conjunction of a filter': (keys) => ({
    body: [{ field: 'NOTES', value: keys.apiSecret, conjunction: keys.apiSecret }],
  }),
  'a body that is no JSON': (keys) => ({ body: `{"apiID":"${keys.apiID}","apiSecret":"${keys.apiSecret}",}` }),
  'a body that is only the secret': (keys) => ({ body: keys.apiSecret }),
  'the path': (keys, call) => ({ path: `${call.path}/${keys.apiSecret}` }),
  'the replaced pair': (_keys, call) => inHeader(replaced, call, { authorization: basicOf(replaced) }),
};

/** Requests that no client would send. */
const RAW: ((keys: Keys) => Buffer | string)[] = [
  (keys) =>
    writeRequest('GET', `${BASE_PATH}/orders/single?teamID=${keys.teamID}&orderNum=1`, [
      `Authorization: ${basicOf(keys)}`,
      `Authorization: ${basicOf(replaced)}`,
    ]),
  (keys) => `GET /${keys.apiSecret} HTTP/9.9\r\n\r\n`,
  (keys) => `GET ${BASE_PATH}/orders/single?apiSecret=${keys.apiSecret} and more HTTP/1.1\r\nHost: a\r\n\r\n`,
  (keys) => writeRequest('GET', `/%zz${keys.apiSecret}`),
  (keys) => writeRequest('GET', '/healthz', [`X-A: ${keys.apiSecret.repeat(400)}`]),
  (keys) => writeRequest('GET', `/healthz?${keys.apiSecret.repeat(300)}`),
  (keys) => writeRequest('GET', '/healthz', [`${keys.apiSecret} : a`]),
  (keys) =>
    writeRequest(
      'PUT',
      `${BASE_PATH}/orders/create?teamID=${keys.teamID}`,
      [`Authorization: ${basicOf(keys)}`, `Content-Type: ${keys.apiSecret}`],
      keys.apiSecret,
    ),
  (keys) => writeRequest(keys.apiSecret, '/healthz'),
];

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

async function callOnce(keys: Keys): Promise<string> {
  if (Math.random() < RAW_SHARE) {
    const { headers, text } = await send(service.origin, pick(RAW)(keys));
    return text + JSON.stringify([...headers]);
  }
  const call = pick(shop.calls);
  const good = {
    path: call.path,
    query: { teamID: keys.teamID, ...call.query },
    headers: { authorization: basicOf(keys) },
    body: bodyOf(call),
  };
  const { path, ...options } = { ...good, ...PLACES[pick(Object.keys(PLACES))]!(keys, call) };
  const { headers, text } = await client.request(call.method, path, options);
  return text + JSON.stringify([...headers]);
}

/** Returns a secret and each half of it: plain, in hex, and in base64 for every offset in the encoded text. */
function formsOf(apiSecret: string): string[] {
  const digits = apiSecret.slice('sr_sk_'.length);
  const middle = Math.floor(digits.length / 2);
  const parts = [apiSecret, digits.slice(0, middle), digits.slice(middle)];
  const encode = (part: string): string[] =>
    [0, 1, 2].map((shift) => {
      const encoded = Buffer.from(' '.repeat(shift) + part).toString('base64');
      return encoded.slice(shift === 0 ? 0 : 4).replace(/.{0,3}=*$/, '');
    });
  return parts.flatMap((part) => [part, Buffer.from(part).toString('hex'), ...encode(part)]);
}

function findSecrets(where: string, content: string | Buffer): string[] {
  const bytes = Buffer.from(content);
  const needles = [shop.keys, replaced].flatMap(({ apiSecret }) => formsOf(apiSecret));
  return needles.filter((needle) => bytes.includes(needle)).map((needle) => `${where}: ${needle}`);
}

const filesOf = (folder: string): string[] =>
  globSync('**/*', { cwd: folder })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());

test('the search finds a secret in every encoding', () => {
  const { apiID, apiSecret } = shop.keys;
  const half = apiSecret.slice(30);
  for (const text of [
    `apiSecret=${apiSecret}`,
    basicOf(shop.keys),
    basicOf({ apiID: `${apiID}1`, apiSecret }),
    basicOf({ apiID: `${apiID}12`, apiSecret }),
    half,
  ])
    assert.notDeepEqual(findSecrets('text', `before ${text} after`), [], text);
});

test(`after ${CALLS} calls with credentials everywhere no secret is in log, responses, files or backup`, async () => {
  let left = CALLS;
  const answers: string[] = [];
  const work = async (): Promise<void> => {
    while (left-- > 0) answers.push(await callOnce(shop.keys));
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  assert.equal(answers.length, CALLS);

  const backup = join(temporaryFolder(), 'backup');
  for (const line of [
    `backup ${backup}`,
    'tenant list',
    'usage one',
    'config',
    'export one orders',
    'tenant list --json',
  ]) {
    const { code, stdout, stderr } = await service.command(...line.split(' '));
    assert.equal(code, 0, stderr);
    assert.deepEqual(findSecrets(line, stdout + stderr), []);
  }
  const files = [...filesOf(service.dataFolder), ...filesOf(backup)];
  assert.ok(files.some((file) => file.endsWith('-wal')) && files.length >= 8, files.join(' '));
  for (const file of files) assert.deepEqual(findSecrets(file, readFileSync(file)), []);
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  for (const [where, text] of Object.entries({ answers: answers.join('\n'), output: service.output, metrics }))
    assert.deepEqual(findSecrets(where, text), []);
  assert.match(service.output, /"msg":"answered"/, 'the log was at its most talkative');

  await service.stop();
  for (const file of filesOf(service.dataFolder)) assert.deepEqual(findSecrets(file, readFileSync(file)), []);
  assert.deepEqual(findSecrets('output', service.output), []);
});
