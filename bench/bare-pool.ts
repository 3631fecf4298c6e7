/**
 * The yardstick of PostgreSQL: a bare node:http server that reads one order with its lines from a bare pg pool for every request, by the same query as
 * ours with one key, and answers it. No keys, no counts, no errors. Its own process. Usage: node bench/bare-pool.ts URL SCHEMA; prints its address.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { buildDictionaries, sortKey } from '../src/pims/record.ts';
import { writePimsSql } from '../src/store/postgres/pims-sql.ts';

const [, , url, schema] = process.argv;
const pool = new Pool({ connectionString: url!, max: 10 });
const text = writePimsSql(schema!, buildDictionaries([])).ordersWithLines.replace('unnest(?::text[])', '(SELECT $1::text)');
const headers = { 'content-type': 'application/json; charset=utf-8' };

const server = createServer((request, response) => {
  const orderNumber = new URLSearchParams(request.url!.split('?')[1]).get('orderNum')!;
  void pool.query<[string, string, string]>({ name: 'order', text, values: [sortKey(orderNumber)], rowMode: 'array' } as never).then(({ rows }) => {
    const [, order, lines] = rows[0]! as unknown as [string, string, string];
    response.writeHead(200, headers).end(`{"status":"success","data":${order},"subRecords":${lines}}`);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
