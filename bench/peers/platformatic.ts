/**
 * Platformatic DB: REST and GraphQL made from the tables, its admin secret checked on every call.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_IN_FIELDS, type RecordType } from '../../src/pims/rules/fields.ts';
import { callWith } from '../load-generator.ts';
import { startServer } from '../servers.ts';
import type { Dialect, Filter, Values } from '../side.ts';
import { ADDED_LINE_NUMBER, findFreePort, rename, waitForAnswer, type PeerPlace, type StartedPeer } from './peer.ts';
import { PLAIN_FILE } from './tables.ts';

const SECRET = 'the-secret-of-the-benchmark';
const HEADERS = { 'x-platformatic-admin-secret': SECRET, 'content-type': 'application/json' };
const ENTITIES = { orders: 'orders', customers: 'customers', inventory: 'inventory' };
const KEYS = { orders: 'orderNumber', customers: 'customerCode', inventory: 'partCode' };
const LINES_MOST = 100;

const nameOf = (field: string): string =>
  field.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A line's ORDER_NUMBER is a relation there, which would cost a look at the order. */
const fieldsOf = (recordType: RecordType): string =>
  BUILT_IN_FIELDS[recordType]
    .filter(({ name }) => recordType !== 'lines' || name !== 'ORDER_NUMBER')
    .map(({ name }) => nameOf(name))
    .join(' ');

export async function startPlatformatic({ store, place, installed }: PeerPlace): Promise<StartedPeer> {
  const port = await findFreePort();
  const cwd = join(installed.folder, store);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
  const settings = {
    $schema: `https://schemas.platformatic.dev/@platformatic/db/${installed.version}.json`,
    db: {
      connectionString: store === 'sqlite' ? `sqlite://${join(place, PLAIN_FILE)}` : place,
      graphql: true,
      openapi: true,
      schemalock: false,
    },
    authorization: { adminSecret: SECRET },
    runtime: { server: { hostname: '127.0.0.1', port }, logger: { level: 'fatal' } },
  };
  writeFileSync(join(cwd, 'platformatic.json'), JSON.stringify(settings));
  const server = await startServer([join(installed.folder, 'node_modules/wattpm/bin/cli.js'), 'start'], {
    cwd,
    node: installed.node,
    waitFor: (hasEnded) => waitForAnswer(port, '/customers/?limit=1', HEADERS, hasEnded),
  });
  return { server, dialect: makeDialect(store === 'sqlite' ? 'like' : 'ilike') };
}

function makeDialect(like: string): Dialect {
  const call = callWith(HEADERS);
  const condition = ({ field, value, contains }: Filter): [string, string] =>
    contains ? [`${nameOf(field)}.${like}`, `%${value}%`] : [`${nameOf(field)}.eq`, value];
  const query = `query ($key: ID!) {
    getOrderByOrderNumber(orderNumber: $key) { ${fieldsOf('orders')} }
    orderLines(where: {orderNumber: {eq: $key}}, orderBy: [{field: lineNumber, direction: ASC}], limit: ${LINES_MOST}) {
      ${fieldsOf('lines')}
    }
  }`.replaceAll(/\s+/g, ' ');
  return {
    getOrder: (key) => call('POST', '/graphql', { query, variables: { key } }),
    query: (recordType, filters, limit) => {
      const conditions = filters.map(condition);
      const parameters = filters.some(({ conjunction }) => conjunction === 'OR')
        ? [['where.or', `(${conditions.map(([name, value]) => `${name}=${value}`).join('|')})`]]
        : conditions.map(([name, value]) => [`where.${name}`, value]);
      const all = [...parameters, ['limit', String(limit)], [`orderby.${KEYS[recordType]}`, 'asc']];
      return call('GET', `/${ENTITIES[recordType]}/?${new URLSearchParams(all).toString()}`);
    },
    createOrder: (values) => call('POST', '/orders/', rename(values, nameOf)),
    addLine: (values: Values) =>
      call('POST', '/orderLines/', rename({ ...values, LINE_NUMBER: ADDED_LINE_NUMBER }, nameOf)),
    updateCustomer: (code, values) => call('PUT', `/customers/${code}`, rename(values, nameOf)),
  };
}
