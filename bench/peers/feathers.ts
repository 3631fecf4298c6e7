/** Feathers: services on knex that check a key against the database on every call. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { RECORD_TYPES } from '../../src/pims/rules/fields.ts';
import { callWith } from '../sides/calls.ts';
import { startServer } from '../sides/servers.ts';
import { writesOf, type Peer } from './peer.ts';

const KEY_ID = 'bench';
const SECRET = 'the-secret-of-the-benchmark';
const SCRIPT = 'feathers-server.mjs';

const nameOf = (field: string): string => field.toLowerCase();
const call = callWith({ 'x-api-key': `${KEY_ID}:${SECRET}`, 'content-type': 'application/json' });

export const FEATHERS: Peer = {
  title: 'Feathers',
  packages: ['@feathersjs/feathers', '@feathersjs/koa', '@feathersjs/knex', 'better-sqlite3', 'knex', 'pg'],
  start: ({ folder, node }, database) => {
    const script = join(folder, SCRIPT);
    copyFileSync(join(import.meta.dirname, SCRIPT), script);
    const env = { BENCH_DATABASE: database, BENCH_KEY_ID: KEY_ID, BENCH_SECRET: SECRET };
    return startServer([script], { cwd: folder, node, env });
  },
  dialectOf: (like) => ({
    ...writesOf(call, nameOf, { orders: '/orders', lines: '/order-lines', update: 'PATCH' }),
    getOrder: (key) => call('GET', `/orders/${key}`),
    query: (recordType, filters, limit) => {
      const isOr = filters.some(({ conjunction }) => conjunction === 'OR');
      const conditions = filters.map(({ field, value, contains }, index) => {
        const name = isOr ? `$or[${index}][${nameOf(field)}]` : nameOf(field);
        return contains ? [`${name}[$${like}]`, `%${value}%`] : [name, value];
      });
      const order = [`$sort[${nameOf(RECORD_TYPES[recordType].key)}]`, '1'];
      const parameters = new URLSearchParams([...conditions, ['$limit', String(limit)], order]);
      return call('GET', `/${recordType}?${parameters.toString()}`);
    },
  }),
};
