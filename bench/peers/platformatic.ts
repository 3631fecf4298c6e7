/** Platformatic DB: makes REST and GraphQL from the tables, and checks its admin secret on every call. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUILT_IN_FIELDS, RECORD_TYPES } from '../../src/pims/rules/fields.ts';
import { callWith } from '../sides/calls.ts';
import { startServer } from '../sides/servers.ts';
import { writesOf, type Peer } from './peer.ts';

const READY_MS = 120_000;
const POLL_MS = 100;
const SECRET = 'the-secret-of-the-benchmark';
const HEADERS = { 'x-platformatic-admin-secret': SECRET, 'content-type': 'application/json' };
const LINES_MAX = 100;

const nameOf = (field: string): string =>
  field.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const call = callWith(HEADERS);

/** Lists the fields to request, without a line's ORDER_NUMBER: it is a relation, so it would read the order again. */
const fieldsOf = (recordType: 'orders' | 'lines'): string =>
  BUILT_IN_FIELDS[recordType]
    .filter(({ name }) => recordType !== 'lines' || name !== 'ORDER_NUMBER')
    .map(({ name }) => nameOf(name))
    .join(' ');
const ORDER_QUERY = `query ($key: ID!) {
  getOrderByOrderNumber(orderNumber: $key) { ${fieldsOf('orders')} }
  orderLines(where: {orderNumber: {eq: $key}}, orderBy: [{field: lineNumber, direction: ASC}], limit: ${LINES_MAX}) {
    ${fieldsOf('lines')}
  }
}`.replaceAll(/\s+/g, ' ');

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Returns the origin when a call succeeds there, because the peer does not print its address. */
async function waitForAnswer(origin: string, hasEnded: () => boolean): Promise<string> {
  for (const until = Date.now() + READY_MS; Date.now() < until && !hasEnded(); await sleep(POLL_MS)) {
    const answer = await fetch(`${origin}/customers/?limit=1`, { headers: HEADERS }).catch(() => undefined);
    if (answer?.ok) return origin;
  }
  throw new Error(`${origin} does not answer.`);
}

export const PLATFORMATIC: Peer = {
  title: 'Platformatic DB',
  packages: ['@platformatic/db', 'wattpm'],
  start: async ({ folder, version, node }, database) => {
    const port = await findFreePort();
    const isDatabase = database.startsWith('postgres');
    const cwd = join(folder, isDatabase ? 'postgres' : 'sqlite');
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
    const settings = {
      $schema: `https://schemas.platformatic.dev/@platformatic/db/${version}.json`,
      db: {
        connectionString: isDatabase ? database : `sqlite://${database}`,
        graphql: true,
        openapi: true,
        schemalock: false,
      },
      authorization: { adminSecret: SECRET },
      runtime: { server: { hostname: '127.0.0.1', port }, logger: { level: 'fatal' } },
    };
    writeFileSync(join(cwd, 'platformatic.json'), JSON.stringify(settings));
    const waitFor = (hasEnded: () => boolean) => waitForAnswer(`http://127.0.0.1:${port}`, hasEnded);
    return startServer([join(folder, 'node_modules/wattpm/bin/cli.js'), 'start'], { cwd, node, waitFor });
  },
  dialectOf: (like) => ({
    ...writesOf(call, nameOf, { orders: '/orders/', lines: '/orderLines/', update: 'PUT' }),
    getOrder: (key) => call('POST', '/graphql', { query: ORDER_QUERY, variables: { key } }),
    query: (recordType, filters, limit) => {
      const conditions = filters.map(({ field, value, contains }) =>
        contains ? [`${nameOf(field)}.${like}`, `%${value}%`] : [`${nameOf(field)}.eq`, value],
      );
      const parameters = filters.some(({ conjunction }) => conjunction === 'OR')
        ? [['where.or', `(${conditions.map((one) => one.join('=')).join('|')})`]]
        : conditions.map(([name, value]) => [`where.${name}`, value!]);
      const order = [`orderby.${nameOf(RECORD_TYPES[recordType].key)}`, 'asc'];
      const all = new URLSearchParams([...parameters, ['limit', String(limit)], order]);
      return call('GET', `/${recordType}/?${all.toString()}`);
    },
  }),
};
