// A Feathers service on the tables of the benchmark, with knex. Every call from outside has a key, whose hash is in the
// database. feathers.ts copies this file beside its packages and starts it.
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { feathers } from '@feathersjs/feathers';
import { KnexService } from '@feathersjs/knex';
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa';
import knex from 'knex';

const { BENCH_DATABASE, BENCH_KEY_ID, BENCH_SECRET } = process.env;
const CONNECTIONS = 10;
const hash = (text) => createHash('sha256').update(text).digest();

const database = BENCH_DATABASE.startsWith('postgres')
  ? knex({ client: 'pg', connection: BENCH_DATABASE, pool: { min: CONNECTIONS, max: CONNECTIONS } })
  : knex({ client: 'better-sqlite3', connection: { filename: BENCH_DATABASE }, useNullAsDefault: true });
if (!(await database.schema.hasTable('api_keys'))) {
  await database.schema.createTable('api_keys', (table) => {
    table.string('id').primary();
    table.binary('hash');
  });
  await database('api_keys').insert({ id: BENCH_KEY_ID, hash: hash(BENCH_SECRET) });
}

async function checkKey({ params }) {
  if (params.provider === undefined) return;
  const [id, secret = ''] = String(params.headers['x-api-key']).split(':');
  const key = await database('api_keys').where({ id }).first();
  if (key === undefined || !timingSafeEqual(key.hash, hash(secret)))
    throw Object.assign(new Error('Unknown key'), { name: 'NotAuthenticated', code: 401 });
}

const app = koa(feathers());
app.use(errorHandler());
app.use(bodyParser());
app.use(async (context, next) => {
  context.feathers = { ...context.feathers, headers: context.headers };
  await next();
});
app.configure(rest());

for (const [path, name, id] of [
  ['orders', 'orders', 'order_number'],
  ['order-lines', 'order_lines', 'id'],
  ['customers', 'customers', 'customer_code'],
  ['inventory', 'inventory', 'part_code'],
]) {
  const options = { Model: database, name, id, paginate: { default: 50, max: 100 }, operators: ['$like', '$ilike'] };
  app.use(path, new KnexService(options));
  app.service(path).hooks({ before: { all: [checkKey] } });
}
async function addLines({ result }) {
  const query = { order_number: result.order_number, $sort: { line_number: 1 } };
  result.lines = await app.service('order-lines').find({ query, paginate: false });
}
app.service('orders').hooks({ after: { get: [addLines] } });

process.on('SIGTERM', () => process.exit(0));
const server = await app.listen(0, '127.0.0.1');
if (!server.listening) await once(server, 'listening');
console.log(`http://127.0.0.1:${server.address().port}`);
