/**
 * Directus: the tables as collections, a user with a static token and rights on them. It runs on the Node it supports.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { callWith } from '../load-generator.ts';
import { startServer } from '../servers.ts';
import type { Dialect, Filter } from '../side.ts';
import { ADDED_LINE_NUMBER, findFreePort, rename, waitForAnswer, type PeerPlace, type StartedPeer } from './peer.ts';
import { PLAIN_FILE } from './tables.ts';

const ADMIN_TOKEN = 'the-token-of-the-administrator';
const TOKEN = 'the-token-of-the-benchmark';
const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const ADMIN_HEADERS = { ...HEADERS, authorization: `Bearer ${ADMIN_TOKEN}` };
const KEYS = { orders: 'order_number', customers: 'customer_code', inventory: 'part_code' };
const COLLECTIONS = ['orders', 'order_lines', 'customers', 'inventory'];

const nameOf = (field: string): string => field.toLowerCase();

export async function startDirectus({ store, place, installed }: PeerPlace): Promise<StartedPeer> {
  const port = await findFreePort();
  const cwd = join(installed.folder, store);
  mkdirSync(cwd, { recursive: true });
  const script = join(installed.folder, 'node_modules/directus/cli.js');
  const env = { ...settingsOf(port), ...databaseOf(store, place) };
  execFileSync(installed.node, [script, 'bootstrap'], { cwd, env: { ...process.env, ...env }, stdio: 'ignore' });
  const server = await startServer([script, 'start'], {
    cwd,
    node: installed.node,
    env,
    waitFor: (hasEnded) => waitForAnswer(port, '/server/ping', {}, hasEnded),
  });
  await openCollections(server.origin);
  return { server, dialect: makeDialect() };
}

const settingsOf = (port: number): Record<string, string> => ({
  HOST: '127.0.0.1',
  PORT: String(port),
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  SECRET: 'the-secret-of-the-benchmark',
  ADMIN_EMAIL: 'admin@example.com',
  ADMIN_PASSWORD: 'the-password-of-the-administrator',
  ADMIN_TOKEN,
  LOG_LEVEL: 'fatal',
  TELEMETRY: 'false',
  CACHE_ENABLED: 'false',
  RATE_LIMITER_ENABLED: 'false',
  PRESSURE_LIMITER_ENABLED: 'false',
  WEBSOCKETS_ENABLED: 'false',
  EXTENSIONS_PATH: './extensions',
  STORAGE_LOCAL_ROOT: './uploads',
});

function databaseOf(store: PeerPlace['store'], place: string): Record<string, string> {
  if (store === 'sqlite') return { DB_CLIENT: 'sqlite3', DB_FILENAME: join(place, PLAIN_FILE) };
  return { DB_CLIENT: 'pg', DB_CONNECTION_STRING: place };
}

/** Makes the tables collections, an order's lines a part of it, and a user that may do with them what is measured. */
async function openCollections(origin: string): Promise<void> {
  const call = async (method: string, path: string, body: object): Promise<{ id: string }> => {
    const answer = await fetch(origin + path, { method, headers: ADMIN_HEADERS, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Directus: ${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
    return (JSON.parse(text) as { data: { id: string } }).data;
  };
  for (const collection of COLLECTIONS) await call('PATCH', `/collections/${collection}`, { meta: { hidden: false } });
  await call('POST', '/fields/orders', {
    field: 'lines',
    type: 'alias',
    meta: { special: ['o2m'], interface: 'list-o2m' },
    schema: null,
  });
  await call('PATCH', '/relations/order_lines/order_number', {
    collection: 'order_lines',
    field: 'order_number',
    related_collection: 'orders',
    meta: { one_field: 'lines' },
  });
  const none = { create: [], update: [], delete: [] };
  const policy = await call('POST', '/policies', {
    name: 'bench',
    app_access: false,
    admin_access: false,
    permissions: none,
  });
  for (const collection of COLLECTIONS)
    for (const action of ['create', 'read', 'update'])
      await call('POST', '/permissions', {
        policy: policy.id,
        collection,
        action,
        fields: ['*'],
        permissions: {},
        validation: {},
      });
  const role = await call('POST', '/roles', {
    name: 'bench',
    policies: { ...none, create: [{ policy: { id: policy.id } }] },
  });
  const password = 'the-password-of-the-benchmark';
  await call('POST', '/users', { email: 'bench@example.com', password, role: role.id, token: TOKEN, status: 'active' });
}

function makeDialect(): Dialect {
  const call = callWith(HEADERS);
  const condition = ({ field, value, contains }: Filter): object => ({
    [nameOf(field)]: contains ? { _icontains: value } : { _eq: value },
  });
  return {
    getOrder: (key) => call('GET', `/items/orders/${key}?fields=*,lines.*&deep[lines][_sort]=line_number`),
    query: (recordType, filters, limit) => {
      const word = filters.some(({ conjunction }) => conjunction === 'OR') ? '_or' : '_and';
      const filter = JSON.stringify({ [word]: filters.map(condition) });
      const parameters = new URLSearchParams({ filter, limit: String(limit), sort: KEYS[recordType] });
      return call('GET', `/items/${recordType}?${parameters.toString()}`);
    },
    createOrder: (values) => call('POST', '/items/orders', rename(values, nameOf)),
    addLine: (values) =>
      call('POST', '/items/order_lines', rename({ ...values, LINE_NUMBER: ADDED_LINE_NUMBER }, nameOf)),
    updateCustomer: (code, values) => call('PATCH', `/items/customers/${code}`, rename(values, nameOf)),
  };
}
