/**
 * Tests traces with a real receiver of OTLP over HTTP, which keeps what arrives. OpenTelemetry's standard variables
 * switch traces on; without them, only the API of OpenTelemetry is loaded.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { areTracesOn } from '../../src/cli/commands/service.ts';
import { getOrder, createOrder } from '../kit/orders.ts';
import { ownService, runCommand, STORE, temporaryFolder, type Service } from '../kit/service.ts';
import { readSpans, type ReceivedSpan } from './otlp.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

interface Receiver {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  readonly paths: Set<string>;
  /** Everything that arrived, including headers. */
  everything: string;
  /** Emits `more` for each request. */
  readonly came: EventEmitter;
}

async function openReceiver(): Promise<Receiver> {
  const [spans, paths, came]: [ReceivedSpan[], Set<string>, EventEmitter] = [[], new Set(), new EventEmitter()];
  const receiver = { endpoint: '', spans, paths, everything: '', came };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      receiver.paths.add(`${request.method} ${request.url} ${request.headers['content-type']}`);
      receiver.everything += JSON.stringify(request.headers) + bytes.toString('latin1');
      receiver.spans.push(...readSpans(bytes));
      came.emit('more');
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  receiver.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

const traced = (endpoint: string, more: Record<string, string> = {}): Promise<Service> =>
  ownService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '100', ...more } });

/** Waits for the span of a request, and returns it with the spans below it. */
async function findTrace(receiver: Receiver, requestId: string): Promise<[ReceivedSpan, ReceivedSpan[]]> {
  const find = (): ReceivedSpan | undefined =>
    receiver.spans.find(({ attributes }) => attributes['storeroom.request_id'] === requestId);
  while (!find()) await once(receiver.came, 'more');
  const span = find()!;
  return [span, receiver.spans.filter(({ parentId }) => parentId === span.spanId)];
}

const receiver = await openReceiver();
const service = await traced(receiver.endpoint, {
  OTEL_SERVICE_NAME: 'shop-pims',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
});
const keys = await service.makeTenant('shop');

test('a request is a span in the trace of its caller, with the work of the store below it', async () => {
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
  const body = { CUSTOMER_CODE: '' };
  const created = await service.call(keys, 'PUT', '/orders/create', { body, headers });
  assert.equal(created.status, 200);
  const [span, below] = await findTrace(receiver, created.headers.get('x-request-id')!);
  assert.deepEqual([span.traceId, span.parentId, span.name], [TRACE, PARENT, 'PUT /tenant/api/pims/v1/orders/create']);
  assert.equal(span.kind, 2, 'of a server');
  assert.deepEqual(span.attributes, {
    'http.request.method': 'PUT',
    'http.route': '/tenant/api/pims/v1/orders/create',
    'http.response.status_code': 200,
    'storeroom.operation': 'createOrder',
    'storeroom.team_id': 'shop',
    'storeroom.request_id': created.headers.get('x-request-id'),
  });
  assert.equal(span.resource['service.name'], 'shop-pims');
  assert.equal(span.resource['deployment.environment.name'], 'test');
  assert.deepEqual(below.map(({ name }) => name).toSorted(), ['pims.write', 'usage.count']);
  for (const { traceId, attributes, startNs, endNs } of below) {
    assert.equal(traceId, TRACE);
    assert.deepEqual(attributes, { 'db.system.name': STORE === 'sqlite' ? 'sqlite' : 'postgresql' });
    assert.ok(startNs >= span.startNs && endNs <= span.endNs && endNs > startNs, 'within its request');
  }
  const { body: order } = await getOrder(service, keys, created.body.data as string);
  const createdAt = Date.parse(order.data.CREATE_DATE as string);
  const [from, to] = [span.startNs, span.endNs].map((ns) => Number(ns / 1_000_000n));
  // A machine sets its clock right by a few milliseconds while it runs; the clock of the tests is hours away from it.
  const near = 20;
  assert.ok(
    span.endNs > span.startNs && from! - near <= createdAt && createdAt <= to! + near,
    'the time of the service',
  );
  assert.deepEqual([...receiver.paths], ['POST /v1/traces application/x-protobuf']);

  const missing = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'none' } });
  const [refused] = await findTrace(receiver, missing.headers.get('x-request-id')!);
  assert.deepEqual([refused.attributes['error.type'], refused.status], [missing.body.code, 0]);
  assert.notEqual(refused.traceId, TRACE);
});

test('no credential, query string, body or header of a call is in the exported traces', async () => {
  const marks = ['query-mark', 'body-mark', 'header-mark', 'path-mark', 'cookie-mark', 'state-mark'];
  const headers = {
    'user-agent': 'header-mark',
    cookie: '__Host-storeroom_session=cookie-mark',
    tracestate: 'a=state-mark',
  };
  const answers = [
    await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'body-mark' }, headers }),
    await service.call(keys, 'PUT', '/orders/create', { body: { WRONG: 'body-mark' }, query: { also: 'query-mark' } }),
    await service.request('GET', '/orders/single', { query: { ...keys, orderNum: 'query-mark' } }),
    await service.request('GET', '/path-mark', { query: { ...keys } }),
  ];
  await fetch(`${service.origin}/dashboard/api/session?token=query-mark`, { headers });
  const sampled = { ...headers, traceparent: `00-${TRACE.replace('0af', '0cf')}-${PARENT}-01` };
  answers.push(await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' }, headers: sampled }));
  for (const { headers: sent } of answers) await findTrace(receiver, sent.get('x-request-id')!);
  for (const secret of [...marks, keys.apiID, keys.apiSecret, Buffer.from(keys.apiSecret).toString('base64')])
    assert.ok(!receiver.everything.includes(secret), secret);
});

test('the sampler is set by the variables, and follows the caller by default', async () => {
  const other = TRACE.replace('0af', '0bf');
  const unsampled = { traceparent: `00-${other}-${PARENT}-00` };
  await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' }, headers: unsampled });
  const { headers } = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' } });
  await findTrace(receiver, headers.get('x-request-id')!);
  assert.ok(receiver.spans.every(({ traceId }) => traceId !== other));

  const silent = await openReceiver();
  const off = await traced(silent.endpoint, { OTEL_TRACES_SAMPLER: 'always_off' });
  await off.call(await off.makeTenant('shop'), 'PUT', '/orders/create', { body: {} });
  assert.equal(await off.stop(), 0);
  assert.deepEqual(silent.spans, []);
});

test('remaining spans are sent when the service stops; a missing receiver fails no call and is reported', async () => {
  const last = await openReceiver();
  const stopped = await traced(last.endpoint, { OTEL_BSP_SCHEDULE_DELAY: '600000' });
  const its = await stopped.makeTenant('shop');
  for (let call = 0; call < 3; call++) await createOrder(stopped, its);
  assert.equal(await stopped.stop(), 0);
  assert.equal(last.spans.filter(({ name }) => name.endsWith('/orders/create')).length, 3);

  const lost = await traced('http://127.0.0.1:9', { OTEL_EXPORTER_OTLP_TIMEOUT: '500' });
  const others = await lost.makeTenant('shop');
  assert.equal((await getOrder(lost, others, '1')).status, 404);
  await lost.said((output) => output.includes('Traces cannot be sent'));
  assert.equal((await createOrder(lost, others)).status, 200);
  assert.equal(await lost.stop(), 0);
});

test('nothing of OpenTelemetry’s SDK is loaded unless its variables are set', async () => {
  const hook = join(temporaryFolder(), 'hook.mjs');
  writeFileSync(
    hook,
    // @prometheus-io/client loads the API, which is a few functions that do nothing.
    `import { registerHooks } from 'node:module';
     registerHooks({ load(url, context, next) {
       if (/@opentelemetry.(?!api)/.test(url)) process.stderr.write('LOADED ' + url + '\\n');
       return next(url, context);
     } });`,
  );
  const env = { NODE_OPTIONS: `--import=${hook}` };
  const plain = await ownService({ env });
  assert.equal((await createOrder(plain, await plain.makeTenant('shop'))).status, 200);
  assert.doesNotMatch(plain.output, /LOADED/);
  for (const off of [{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }])
    assert.equal(areTracesOn({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', ...off }), false);
  const on = await ownService({ env: { ...env, OTEL_TRACES_EXPORTER: 'otlp' } });
  await on.said((output) => output.includes('LOADED'));
});

test('unsupported values are refused by name', async () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const env = { ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' };
  const says = /OTEL_TRACES_EXPORTER must be .*not 'zipkin'/;
  const { code, stderr } = await runCommand(temporaryFolder(), ['serve', '--port', '0'], { env });
  assert.equal(code, 1);
  assert.match(stderr, says);
  assert.throws(() => areTracesOn(env), says);
  const protocol = { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  assert.throws(() => areTracesOn(protocol), /OTEL_EXPORTER_OTLP_PROTOCOL must be .*not 'grpc'/);
});
