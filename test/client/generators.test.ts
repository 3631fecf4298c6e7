/**
 * Tests that the clients which openapi-typescript, Hey API and Orval generate from openapi.json compile in strict
 * TypeScript, can call the service, and put no secret into a URL. The test installs the three generators itself,
 * because one of them needs an older compiler.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { basicOf } from '../kit/operations.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, sharedService, temporaryFolder } from '../kit/service.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = {
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  '@hey-api/openapi-ts': '0.99.0',
  orval: '8.38.0',
  typescript: '5.9.3',
};
const folder = temporaryFolder();
const shop = await Shop.open(await sharedService(), 'generators');
const { teamID, apiID, apiSecret } = shop.keys;

/** The requests to the service, recorded by a server in front of it. */
const received: { url: string; headers: IncomingHttpHeaders }[] = [];
const recorder = createServer((request, response) => {
  const { method = '', url = '', headers } = request;
  received.push({ url, headers });
  const { authorization = '', 'content-type': type = '' } = headers;
  const forward = async (): Promise<void> => {
    const body = method === 'GET' ? null : await buffer(request);
    const sent = { authorization, ...(type !== '' && { 'content-type': type }) };
    const answer = await fetch(shop.service.origin + url, {
      method,
      headers: sent,
      body: body && new Uint8Array(body),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  };
  void forward();
});

const TEAM = `{ teamID: '${teamID}' }`;
const FILTERS = `[{ field: 'REFERENCE_NUMBER', value: '#1' }, { field: 'SHIP_VIA', op: 'not_empty', conjunction: 'OR' }]`;
const programs = (origin: string): Record<string, string> => ({
  'openapi-typescript': `
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript/api.ts';
const client = createClient<paths>({ baseUrl: '${origin}', headers: { Authorization: '${basicOf(shop.keys)}' } });
const made = await client.PUT('${BASE_PATH}/orders/create', { params: { query: ${TEAM} }, body: { REFERENCE_NUMBER: '#1' } });
const orderNum = made.data!.data;
const read = await client.GET('${BASE_PATH}/orders/single', { params: { query: { ...${TEAM}, orderNum } } });
const order: components['schemas']['Order'] = read.data!.data;
const found = await client.POST('${BASE_PATH}/orders/query', { params: { query: { ...${TEAM}, maxReturn: 1 } }, body: ${FILTERS} });
const step: components['schemas']['BatchStep'] = { operation: 'createOrder', body: {} };
console.log(JSON.stringify([orderNum === order.ORDER_NUMBER, order.REFERENCE_NUMBER, found.data!.data.length, step.operation]));
`,
  'hey-api': `
import { createOrder, getOrder, queryOrders, type BatchStep, type Order } from './hey-api/index.ts';
import { client } from './hey-api/client.gen.ts';
client.setConfig({ baseUrl: '${origin}', auth: '${apiID}:${apiSecret}', throwOnError: true });
const made = await createOrder({ query: ${TEAM}, body: { REFERENCE_NUMBER: '#1' }, throwOnError: true });
const orderNum = made.data.data;
const order: Order = (await getOrder({ query: { ...${TEAM}, orderNum }, throwOnError: true })).data.data;
const found = await queryOrders({ query: { ...${TEAM}, maxReturn: 1 }, body: ${FILTERS}, throwOnError: true });
const step: BatchStep = { operation: 'createOrder', body: {} };
console.log(JSON.stringify([orderNum === order.ORDER_NUMBER, order.REFERENCE_NUMBER, found.data.data.length, step.operation]));
`,
  orval: `
import { createOrder, getOrder, queryOrders, type BatchStep, type Order } from './orval/api.ts';
const options = { headers: { Authorization: '${basicOf(shop.keys)}', 'Content-Type': 'application/json' } };
const made = await createOrder({ REFERENCE_NUMBER: '#1' }, ${TEAM}, options);
if (made.status !== 200) throw new Error(made.data.message);
const orderNum = made.data.data;
const read = await getOrder({ ...${TEAM}, orderNum }, options);
if (read.status !== 200) throw new Error(String(read.status));
const order: Order = read.data.data;
const found = await queryOrders(${FILTERS}, { ...${TEAM}, maxReturn: 1 }, options);
if (found.status !== 200) throw new Error(found.data.remedy);
const step: BatchStep = { operation: 'createOrder', body: {} };
console.log(JSON.stringify([orderNum === order.ORDER_NUMBER, order.REFERENCE_NUMBER, found.data.data.length, step.operation]));
`,
});
const COMPILER = {
  strict: true,
  noEmit: true,
  module: 'esnext',
  moduleResolution: 'bundler',
  allowImportingTsExtensions: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
};
const NAMES = ['openapi-typescript', 'hey-api', 'orval'];

before(async () => {
  const listening = once(recorder, 'listening');
  recorder.listen(0, '127.0.0.1');
  await listening;
  const origin = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`;
  const wanted = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  await run('npm', ['install', '--prefix', folder, ...quiet, ...wanted]);
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write('openapi.json', readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
  write('package.json', '{"type":"module"}');
  write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER, files: NAMES.map((name) => `${name}.ts`) }));
  const output = { target: 'orval/api.ts', client: 'fetch', baseUrl: origin };
  write('orval.config.mjs', `export default ${JSON.stringify({ api: { input: 'openapi.json', output } })};`);
  for (const [name, text] of Object.entries(programs(origin))) write(`${name}.ts`, text);
  const generate = (name: string, ...words: string[]): Promise<unknown> =>
    run(process.execPath, [join(folder, 'node_modules/.bin', name), ...words], { cwd: folder });
  await generate('openapi-typescript', 'openapi.json', '-o', 'openapi-typescript/api.ts');
  await generate('openapi-ts', '-i', 'openapi.json', '-o', 'hey-api');
  await generate('orval', '--config', 'orval.config.mjs');
});
after(() => recorder.close());

test('what they make, and programs that use it, compile in strict TypeScript', async () => {
  const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
    (fault: unknown) => fault as never,
  );
  assert.equal(stdout, '');
});

for (const name of NAMES)
  test(`a client made by ${name} makes, reads and finds an order, with its keys in no URL`, async () => {
    received.length = 0;
    const bundle = await rolldown({ input: join(folder, `${name}.ts`), cwd: folder, logLevel: 'silent' });
    await bundle.write({ file: join(folder, `${name}.mjs`), format: 'esm' });
    const { stdout } = await run(process.execPath, [join(folder, `${name}.mjs`)]);
    assert.deepEqual(JSON.parse(stdout), [true, '#1', 1, 'createOrder']);
    const paths = received.map(({ url }) => url.slice(BASE_PATH.length).split('?')[0]);
    assert.deepEqual(paths, ['/orders/create', '/orders/single', '/orders/query']);
    for (const { url, headers } of received) {
      assert.doesNotMatch(decodeURIComponent(url), /apiID|apiSecret|sr_(id|sk)_/, url);
      assert.equal(headers.authorization, basicOf(shop.keys));
    }
  });
