/**
 * The yardstick of PostgreSQL: a bare node:http server that reads an order with its lines from a bare pg pool for every
 * request, by our query with one key, and nothing else. Usage: node bench/bare-pg-server.ts URL SCHEMA; prints its
 * address.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { sortKey } from '../src/pims/values.ts';
import { buildDictionaries } from '../src/pims/fields.ts';
import { buildPimsSql } from '../src/store/postgres/pims-sql.ts';

const [, , url, schema] = process.argv;
const pool = new Pool({ connectionString: url!, max: 10 });
const text = buildPimsSql(schema!, buildDictionaries([]))
  .ordersWithLines()
  .replace('unnest(?::text[])', '(SELECT $1::text)');
const headers = { 'content-type': 'application/json; charset=utf-8' };

async function readOrder(orderNumber: string): Promise<string> {
  const { rows } = await pool.query<[string, string, string]>({
    name: 'order',
    text,
    values: [sortKey(orderNumber)],
    rowMode: 'array',
  });
  const [, order, lines] = rows[0]!;
  return `{"status":"success","data":${order},"subRecords":${lines}}`;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readOrder(new URLSearchParams(request.url!.split('?')[1]).get('orderNum')!);
  response.writeHead(200, headers).end(body);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
