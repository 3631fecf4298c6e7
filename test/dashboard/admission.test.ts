/**
 * Tests that every route of the dashboard passes the admission that operations pass: places, unread responses and rate,
 * for each tenant and user. The tests walk the table of routes, so that a new route cannot be forgotten.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteTerms } from '../../src/administration/action.ts';
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { firstBytes, sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { writeRequest } from '../kit/raw-http.ts';
import { ownService, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { PRIVATE, Receiver } from '../webhooks/receiver.ts';
import { BEHIND_PROXY } from './scene.ts';
import { API, codeIn, COOKIE, expectCode, expectOk, Visitor, type Reply } from './visitor.ts';

/** The routes of signed-in users. */
const routes = Object.entries(ROUTES as Record<string, RouteTerms>).flatMap(([name, { role }]) => {
  const [method = '', path = ''] = name.split(' ');
  return role === undefined ? [] : [{ name, method, path }];
});
/** Sends a request that is admitted before its form is refused, so that it does nothing. */
const ask = (visitor: Visitor, { method, path }: { method: string; path: string }): Promise<Reply> =>
  method === 'GET' ? visitor.get(path, { unknown: '1' }) : visitor.post(path, { unknown: '1' });

const MIB = 1024 * 1024;
const BURST = 200;
const TESTS = 3;

async function open(env: Record<string, string>): Promise<{ service: Service; busy: Visitor; other: Visitor }> {
  const service = await ownService({ env: { ...BEHIND_PROXY, ...PRIVATE, ...env } });
  for (const team of ['busy', 'other']) await service.makeTenant(team);
  const [busy, other] = [await Visitor.make(service, 'busy', 'owner'), await Visitor.make(service, 'other', 'owner')];
  return { service, busy, other };
}
const narrow = await open({ STOREROOM_IN_FLIGHT_MAX: '4', STOREROOM_TENANT_IN_FLIGHT_MAX: '1' });
const small = await open({ STOREROOM_TRAFFIC_BYTES_MAX: String(MIB) });

/** Adds a webhook and begins a test of it, which ends when the receiver or the caller ends it. */
async function hang(busy: Visitor, receiver: Receiver): Promise<{ id: string; reply: Promise<Reply> }> {
  const { id, secret } = await busy.ask('POST /webhooks', { url: receiver.url, types: [] });
  receiver.secrets.push(secret);
  const count = receiver.received.length;
  const reply = busy.post('/webhooks/test', { id });
  await receiver.has(count + 1);
  return { id, reply };
}

async function hangingReceiver(service: Service): Promise<Receiver> {
  const receiver = await Receiver.start();
  receiver.behave = () => 'hang';
  await service.stand();
  return receiver;
}

test('429 on every route for a tenant with many calls in flight on a busy service; another tenant is served', async () => {
  const { service, busy, other } = narrow;
  const receiver = await hangingReceiver(service);
  // Three of the four places are taken.
  const held: Promise<Reply>[] = [];
  for (let count = 0; count < TESTS; count++) held.push((await hang(busy, receiver)).reply);
  for (const route of routes) {
    const reply = await ask(busy, route);
    assert.equal(codeIn(reply), '429 RATE_LIMITED', route.name);
    assert.match(reply.body.message, /calls in flight/, route.name);
  }
  await expectOk(other.get('/session'));
  receiver.close();
  await Promise.all(held);
});

test('429 for a second test of a webhook and a fourth of a tenant, until a test ends', async () => {
  const { service, busy, other } = small;
  const receiver = await hangingReceiver(service);
  const first = await hang(busy, receiver);
  const again = await expectCode(busy.post('/webhooks/test', { id: first.id }), '429 RATE_LIMITED');
  assert.equal(again.headers.get('retry-after'), '1');
  assert.match(again.body.message, /A test of this webhook/);
  const held = [first, await hang(busy, receiver), await hang(busy, receiver)];
  const { id, secret } = await busy.ask('POST /webhooks', { url: receiver.url, types: [] });
  receiver.secrets.push(secret);
  const fourth = await expectCode(busy.post('/webhooks/test', { id }), '429 RATE_LIMITED');
  assert.match(fourth.body.message, /3 of the team/);
  held.push(await hang(other, receiver));
  await receiver.restart();
  await Promise.all(held.map(({ reply }) => expectOk(reply)));
  receiver.behave = () => 200;
  await expectOk(busy.post('/webhooks/test', { id }));
});

/** The first 90 records of the audit log have 12 kB, because JSON escapes each character of the file's name with six. */
const RECORDS = 90;

test('a page of the audit log ends before 1 MiB, and its `next` continues without a gap', async () => {
  const { busy } = small;
  await expectOk(busy.send('PUT', `${API}/records/inventory/create`, '{"PART_CODE":"P"}'));
  const file = '\u0001'.repeat(40_000);
  const table = { recordType: 'inventory', file, fields: ['PART_CODE', 'BARCODE'], updates: true, isDry: false };
  for (let row = 0; row < RECORDS; row++) await busy.ask('POST /imports', { ...table, rows: [['P', `${row}`]] });
  const numbers: number[] = [];
  let pages = 0;
  for (let before: string | null = ''; before !== null; pages++) {
    const { text, body } = await expectOk(busy.get('/audit', before === '' ? {} : { before }));
    assert.ok(text.length <= MIB, `${text.length} bytes`);
    numbers.push(...body.records.map((record: { number: number }) => record.number));
    before = body.next === null ? null : String(body.next);
  }
  assert.ok(pages > 1);
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, at) => numbers.length - at),
  );
  assert.equal((await busy.ask('GET /audit/verify')).isWhole, true);
});

test('429 on every route that reads while the tenant has unread responses; another tenant is served', async () => {
  const { service, busy, other } = small;
  await service.move(10_000); // A user has 20 calls a second.
  const lines = [`Cookie: ${COOKIE}=${busy.token}`, 'Sec-Fetch-Site: same-origin'];
  const page = writeRequest('GET', `${API}/audit`, lines);
  const sockets = times(2, () => sendUnread(service.origin, Buffer.concat(times(20, () => page))));
  await firstBytes(sockets);
  await until(async () => codeIn(await busy.get('/session')) === '429 TOO_MANY_QUERIES');
  // The system's buffers take some of the responses, so there is room again for moments.
  for (const { name, path } of routes.filter(({ method }) => method === 'GET'))
    await until(async () => codeIn(await busy.get(path, neededBy(name))) === '429 TOO_MANY_QUERIES');
  await expectOk(other.get('/session'));
  await expectOk(busy.send('PUT', `${API}/records/inventory/create`, '{"PART_CODE":"WRITES-GO-ON"}'));
  for (const socket of sockets) socket.destroy();
  await until(async () => codeIn(await busy.get('/session')) === '200');
});

/** Returns the parameters that a read needs. */
function neededBy(name: string): Record<string, string> {
  const { takes } = (ROUTES as Record<string, RouteTerms>)[name]!;
  const names = (takes?.['required'] ?? []) as string[];
  return Object.fromEntries(names.map((needed) => [needed, 'P']));
}

test('429 on every route and on records for a user with more than 20 calls a second', async () => {
  const { service, busy, other } = small;
  const colleague = await busy.add('owner', 'colleague@busy.example');
  await service.stand();
  const codes = await Promise.all(times(BURST + 1, async () => codeIn(await colleague.get('/session'))));
  assert.deepEqual(new Set(codes), new Set(['200', '429 RATE_LIMITED']));
  const path = '/records/orders/query';
  for (const route of [...routes, { name: path, method: 'POST', path }]) {
    const reply = await expectCode(ask(colleague, route), '429 RATE_LIMITED');
    assert.equal(reply.headers.get('retry-after'), '1', route.name);
  }
  for (const visitor of [busy, other]) await expectOk(visitor.get('/session'));
});
