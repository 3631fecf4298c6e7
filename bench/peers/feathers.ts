/**
 * Feathers: services over knex, a key checked against the database on every call.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { callWith } from '../load-generator.ts';
import { startServer } from '../servers.ts';
import type { Dialect, Filter } from '../side.ts';
import { ADDED_LINE_NUMBER, findFreePort, rename, waitForAnswer, type PeerPlace, type StartedPeer } from './peer.ts';
import { PLAIN_FILE } from './tables.ts';

const KEY_ID = 'bench';
const SECRET = 'the-secret-of-the-benchmark';
const HEADERS = { 'x-api-key': `${KEY_ID}:${SECRET}`, 'content-type': 'application/json' };
const KEYS = { orders: 'order_number', customers: 'customer_code', inventory: 'part_code' };
const SCRIPT = 'feathers-server.mjs';

const nameOf = (field: string): string => field.toLowerCase();

export async function startFeathers({ store, place, installed }: PeerPlace): Promise<StartedPeer> {
  const port = await findFreePort();
  const script = join(installed.folder, SCRIPT);
  copyFileSync(join(import.meta.dirname, SCRIPT), script);
  const server = await startServer([script], {
    cwd: installed.folder,
    node: installed.node,
    env: {
      BENCH_DATABASE: store === 'sqlite' ? join(place, PLAIN_FILE) : place,
      BENCH_KEY_ID: KEY_ID,
      BENCH_SECRET: SECRET,
      BENCH_PORT: String(port),
    },
    waitFor: (hasEnded) => waitForAnswer(port, '/customers?$limit=1', HEADERS, hasEnded),
  });
  return { server, dialect: makeDialect(store === 'sqlite' ? '$like' : '$ilike') };
}

function makeDialect(like: string): Dialect {
  const call = callWith(HEADERS);
  const condition = ({ field, value, contains }: Filter): [string, string] =>
    contains ? [`${nameOf(field)}[${like}]`, `%${value}%`] : [nameOf(field), value];
  return {
    getOrder: (key) => call('GET', `/orders/${key}`),
    query: (recordType, filters, limit) => {
      const conditions = filters.map(condition);
      const isOr = filters.some(({ conjunction }) => conjunction === 'OR');
      const parameters = [
        ...conditions.map(([name, value], index) => [isOr ? `$or[${index}][${name}]` : name, value]),
        ['$limit', String(limit)],
        [`$sort[${KEYS[recordType]}]`, '1'],
      ];
      return call('GET', `/${recordType}?${new URLSearchParams(parameters).toString()}`);
    },
    createOrder: (values) => call('POST', '/orders', rename(values, nameOf)),
    addLine: (values) => call('POST', '/order-lines', rename({ ...values, LINE_NUMBER: ADDED_LINE_NUMBER }, nameOf)),
    updateCustomer: (code, values) => call('PATCH', `/customers/${code}`, rename(values, nameOf)),
  };
}
