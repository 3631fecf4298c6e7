/**
 * The contract itself: openapi.json passes Redocly's recommended rules, its examples are what its schemas say and what the service takes and gives,
 * and the file in the repository is the one the service gives out.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { BASE_PATH, Service, temporaryFolder } from './kit/service.ts';

const ROOT = join(import.meta.dirname, '..');
const NAMES = 'getOrder queryOrders createOrder addLineItem updateLineItem findOrdersByStorefrontReference getCustomer queryCustomers createCustomer updateCustomer getInventoryItem queryInventoryItems'.split(' '); // prettier-ignore
/** The table of section 4 of the specification. */
const PATHS =
  `GET /orders/single, POST /orders/query, PUT /orders/create, PUT /orders/line_item, POST /orders/line_item, GET /orders/by_storefront_reference,
  GET /customers/single, POST /customers/query, PUT /customers/create, POST /customers/update, GET /inventory/single, POST /inventory/query`.split(
    /,\s*/,
  );

type Schema = Record<string, unknown>;
interface Media {
  schema: Schema;
  example?: unknown;
}
interface Answer {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Media>;
}
interface Described {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: {
    name: string;
    in: string;
    required: boolean;
    description: string;
    schema: Schema;
    example?: unknown;
  }[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
}
interface Document {
  openapi: string;
  security: Record<string, string[]>[];
  components: { securitySchemes: Record<string, { type: string }> };
  paths: Record<string, Record<string, Described>>;
}

let service: Service;
let document: Document;
let operations: (Described & { method: string; path: string })[];
before(async () => {
  service = await Service.start();
  document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as Document;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ ...described, method: method.toUpperCase(), path })),
  );
});
after(() => service.stop());

const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
function expectValid(schema: Schema, value: unknown, what: string): void {
  const validate = ajv.compile(schema);
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

test("openapi.json passes Redocly's recommended rules without an error or a warning", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  const command = [
    fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js')),
    'lint',
    '--extends',
    'recommended',
    '--format',
    'json',
    'openapi.json',
  ];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, env, encoding: 'utf8' });
  assert.ok(stdout.includes('"totals"'), `no report: ${stdout}${stderr}`);
  const report = JSON.parse(stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1)) as {
    totals: Record<string, number>;
    problems: unknown[];
  };
  assert.deepEqual([report.totals, report.problems, status], [{ errors: 0, warnings: 0, ignored: 0 }, [], 0]);
});

test('the operations are the twelve of the specification, under their names', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  const named = operations.filter(({ path }) => path.startsWith(BASE_PATH));
  assert.deepEqual(named.map(({ operationId }) => operationId).toSorted(), NAMES.toSorted());
  assert.deepEqual(
    named.map(({ method, path }) => `${method} ${path.slice(BASE_PATH.length)}`).toSorted(),
    PATHS.toSorted(),
  );
  const beside = operations.filter(({ path }) => !path.startsWith(BASE_PATH)).map(({ path }) => path);
  assert.deepEqual(beside, ['/healthz', '/readyz']);
});

test('every operation says what it is for, which credentials it takes and what it can answer', () => {
  for (const { operationId, path, summary, description, security, responses, tags } of operations) {
    assert.ok(summary && tags.length === 1, operationId);
    if (!path.startsWith(BASE_PATH)) {
      assert.deepEqual(security, [], operationId);
      continue;
    }
    assert.ok(description.length > 20, operationId);
    assert.equal(security, undefined, 'the credentials of the whole document');
    for (const status of ['200', '400', '401', '429', '500', '503'])
      assert.ok(status in responses, `${operationId} ${status}`);
    for (const [status, { headers }] of Object.entries(responses))
      assert.ok('X-Request-Id' in headers!, `${operationId} ${status}`);
  }
  assert.deepEqual(document.security, [{ basic: [] }, { apiId: [], apiSecret: [] }]);
  assert.deepEqual(Object.keys(document.components.securitySchemes), ['basic', 'apiId', 'apiSecret']);
});

test('every request body and every answer has an example, which its schema allows', () => {
  let examples = 0;
  for (const { operationId, requestBody, responses } of operations) {
    const media: [string, Media | undefined][] = Object.entries(responses).map(([status, { content }]) => [
      status,
      content?.['application/json'],
    ]);
    if (requestBody) {
      assert.equal(requestBody.required, true);
      media.push(['request', requestBody.content['application/json']]);
    }
    for (const [what, one] of media) {
      assert.ok(one && 'example' in one, `${operationId} ${what} has no example`);
      expectValid(one.schema, one.example, `${operationId} ${what}`);
      examples++;
    }
  }
  assert.ok(examples > 100, `${examples} examples`);
});

test('the schemas are no rubber stamps: what is no envelope, no record or no error is refused by them', () => {
  for (const { operationId, responses } of operations.filter(({ path }) => path.startsWith(BASE_PATH)))
    for (const [status, { content }] of Object.entries(responses)) {
      const { schema, example } = content!['application/json'] as { schema: Schema; example: Record<string, unknown> };
      const validate = ajv.compile(schema);
      for (const wrong of [
        {},
        null,
        [],
        'success',
        { ...example, more: 1 },
        { ...example, status: 'other', orders: 1 },
      ])
        assert.equal(validate(wrong), false, `${operationId} ${status}: ${JSON.stringify(wrong)}`);
    }
});

test('the demo tenant answers every example as it is shown, but for lock codes and the time of writing', async (context) => {
  const demo = await Service.start({ env: { STOREROOM_DEMO: 'on' } });
  context.after(() => demo.stop());
  const [, apiID = '', apiSecret = ''] = /-u '([^:]+):([^']+)'/.exec(demo.output) ?? [];
  let lockCode = '';
  for (const { operationId, method, path, parameters = [], requestBody, responses } of operations.filter((one) =>
    one.path.startsWith(BASE_PATH),
  )) {
    const shown = parameters
      .filter(({ name, example }) => name !== 'teamID' && example !== undefined)
      .map(({ name, example }) => [name, String(example)]);
    const body = structuredClone(requestBody?.content['application/json']!.example) as
      | Record<string, unknown>
      | undefined;
    if (operationId === 'updateLineItem') body!['LINE_REF_LOCK_CODE'] = lockCode;
    const answer = await demo.call({ teamID: 'demo', apiID, apiSecret }, method, path.slice(BASE_PATH.length), {
      query: shown,
      body,
    });
    assert.equal(answer.status, 200, `${operationId}: ${answer.text}`);
    if (operationId === 'addLineItem') lockCode = answer.body.data.LINE_REF_LOCK_CODE as string;
    assert.deepEqual(
      comparable(answer.body),
      comparable(responses['200']!.content!['application/json']!.example),
      operationId,
    );
  }
});

/** An answer without what differs from one making of a record to the next; of a list, or of lines, the first. */
function comparable(answer: unknown): unknown {
  const { data, subRecords, ...others } = answer as {
    data?: unknown;
    subRecords?: { ORDER_LINEITEMS: unknown }[] | null;
  };
  const record = Array.isArray(data) ? (data[0] as unknown) : data;
  return { ...others, data: withoutOwn(record), line: withoutOwn(subRecords?.[0]?.ORDER_LINEITEMS) };
}

function withoutOwn(record: unknown): unknown {
  if (typeof record !== 'object' || record === null) return record;
  const {
    LINE_REF_LOCK_CODE: _code,
    CREATE_DATE: _made,
    MODIFIED_DATE: _changed,
    ...values
  } = record as Record<string, string>;
  return values;
}

test('the parameters are those of the specification, those it demands marked as required and shown with an example', () => {
  const required: Record<string, string> = { getOrder: 'orderNum', getCustomer: 'customerCode', getInventoryItem: 'partCode', findOrdersByStorefrontReference: 'storefront_order_number' }; // prettier-ignore
  for (const { operationId, path, parameters = [] } of operations.filter((one) => one.path.startsWith(BASE_PATH))) {
    const demanded = parameters.filter((one) => one.required && one.name !== 'teamID').map(({ name }) => name);
    assert.deepEqual(demanded, [required[operationId]].filter(Boolean), operationId);
    const teamID = parameters.find(({ name, in: place }) => name === 'teamID' && place === 'query');
    assert.equal(
      teamID?.required,
      !/\/(create|update|line_item)$/.test(path),
      `${operationId}: a body of fields can carry teamID instead`,
    );
    assert.equal(parameters.some(({ name }) => name === 'maxReturn'), path.endsWith('/query'), operationId); // prettier-ignore
    for (const { name, description, required: isRequired, schema, example } of parameters) {
      assert.ok(description, `${operationId} ${name}`);
      assert.ok(!isRequired || example !== undefined, `${operationId} ${name} has no example`);
      if (example !== undefined) expectValid(schema, example, `${operationId} ${name}`);
    }
  }
});

test('openapi.json in the repository is what the service gives out', () => {
  assert.deepEqual(
    JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')),
    document,
    'run `npm run generate` and look at what changed',
  );
});
