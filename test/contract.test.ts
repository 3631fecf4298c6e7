/** Tests openapi.json: Redocly's rules, examples that its schemas and the service accept, and the served file. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ERRORS, type ErrorCode } from '../src/errors.ts';
import { renderContract } from '../tools/contract/render-contract.ts';
import { parseValue, type RawValue } from '../src/pims/rules/values.ts';
import type { Field, FieldType } from '../src/pims/rules/fields.ts';
import { inlineRefs } from './kit/contract.ts';
import { BASE_PATH, Service, temporaryFolder, type Keys } from './kit/service.ts';

const ROOT = join(import.meta.dirname, '..');
/** The twelve operations of PIMS. */
const OPERATIONS = {
  getOrder: 'GET /orders/single',
  queryOrders: 'POST /orders/query',
  createOrder: 'PUT /orders/create',
  addLineItem: 'PUT /orders/line_item',
  updateLineItem: 'POST /orders/line_item',
  findOrdersByStorefrontReference: 'GET /orders/by_storefront_reference',
  getCustomer: 'GET /customers/single',
  queryCustomers: 'POST /customers/query',
  createCustomer: 'PUT /customers/create',
  updateCustomer: 'POST /customers/update',
  getInventoryItem: 'GET /inventory/single',
  queryInventoryItems: 'POST /inventory/query',
};
/** The operations that Storeroom adds. */
const ADDITIONS = {
  queryLines: 'POST /lines/query',
  batch: 'POST /batch',
  findOrdersByStorefrontReferences: 'POST /orders/by_storefront_reference',
  updateOrder: 'POST /orders/update',
  cancelOrder: 'POST /orders/cancel',
  approveOrder: 'POST /orders/approve',
  invoiceOrder: 'POST /orders/invoice',
  voidInvoice: 'POST /orders/void',
  returnOrder: 'PUT /orders/return',
  createPart: 'PUT /inventory/create',
  updatePart: 'POST /inventory/update',
  receiveStock: 'POST /stock/receive',
  countStock: 'POST /stock/count',
  adjustStock: 'POST /stock/adjust',
  listMovements: 'GET /stock/movements',
  listChanges: 'GET /changes',
  listFields: 'GET /fields',
  getUsage: 'GET /usage',
};
const REQUIRED: Record<string, string> = {
  getOrder: 'orderNum',
  getCustomer: 'customerCode',
  getInventoryItem: 'partCode',
  findOrdersByStorefrontReference: 'storefront_order_number',
  listMovements: 'partCode',
  listFields: 'type',
};

type Schema = Record<string, unknown>;
interface Exemplified {
  schema: Schema;
  example?: unknown;
}
interface Answer {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Exemplified>;
}
interface Described {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: (Exemplified & { name: string; in: string; required: boolean; description: string })[];
  requestBody?: { required: boolean; content: Record<string, Exemplified> };
  responses: Record<string, Answer>;
}
interface Document {
  openapi: string;
  info: { description: string };
  security: Record<string, string[]>[];
  components: {
    securitySchemes: Record<string, { type: string; scheme: string }>;
    schemas: Record<string, Schema>;
    parameters: Record<string, { name: string; in: string }>;
  };
  paths: Record<string, Record<string, Described>>;
}

let service: Service;
let document: Document;
/** The document without references. */
let inlined: Document;
let operations: (Described & { method: string; path: string })[];
before(async () => {
  service = await Service.start();
  document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as Document;
  inlined = inlineRefs(document);
  operations = Object.entries(inlined.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ ...described, method: method.toUpperCase(), path })),
  );
});
after(() => service.stop());

const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
function expectValid(schema: Schema, value: unknown, what: string): void {
  const validate = ajv.compile(schema);
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

const exampleOf = ({ example }: Exemplified): unknown => example;

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

// Holds S1.1, S1.2, S1.3.
test('the operations are the twelve of the specification and those added, under their names', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  const named = operations.filter(({ path }) => path.startsWith(BASE_PATH));
  const described = named.map(({ operationId, method, path }) => [
    operationId,
    `${method} ${path.slice(BASE_PATH.length)}`,
  ]);
  assert.deepEqual(Object.fromEntries(described), { ...OPERATIONS, ...ADDITIONS });
  assert.equal(named.length, Object.keys({ ...OPERATIONS, ...ADDITIONS }).length);
  const beside = operations.filter(({ path }) => !path.startsWith(BASE_PATH)).map(({ path }) => path);
  assert.deepEqual(beside, ['/healthz', '/readyz']);
});

test('every operation documents its purpose, its credentials and its responses', () => {
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
});

// Holds S1.11.
test('credentials are Basic for every generator; the other two places are only described in text', () => {
  assert.deepEqual(document.security, [{ basic: [] }]);
  const schemes = Object.entries(document.components.securitySchemes);
  assert.deepEqual(
    schemes.map(([name, { type, scheme }]) => [name, type, scheme]),
    [['basic', 'http', 'basic']],
  );
  for (const { operationId, parameters = [] } of operations)
    for (const { name } of parameters) assert.doesNotMatch(name, /^api/i, operationId);
  assert.match(document.info.description, /query\s+parameters `apiID` and `apiSecret`, or members with these names/);
});

// Holds S1.11.
test('the introduction explains the address, the credentials, a first call, pages, errors, retries and batches', () => {
  const { description } = document.info;
  const sections = [...description.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  assert.deepEqual(sections, 'Base path,Credentials,First call,Pages,Errors,Retries,Batch'.split(','));
  const needed = [BASE_PATH, 'curl -u', 'X-Has-More', '`remedy`', '(/docs/errors)', 'Idempotency-Key', '/batch'];
  for (const word of needed) assert.ok(description.includes(word), word);
  assert.match(description, /PIMS, the inventory management system/);
  assert.ok(
    description.indexOf('PIMS, the') === description.indexOf('PIMS'),
    'PIMS is explained where it is first met',
  );
});

// Holds S1.11.
test('a number is a number, a choice is an enum, and headers are spelled as in the documents', () => {
  const query = operations.find(({ operationId }) => operationId === 'queryOrders')!;
  const parameterOf = (name: string) => query.parameters!.find((one) => one.name === name)!;
  assert.deepEqual(parameterOf('maxReturn').schema, { type: 'integer', minimum: 1 });
  const { items } = query.requestBody!.content['application/json']!.schema as { items: { properties: Schema } };
  assert.deepEqual((items.properties['conjunction'] as Schema)['enum'], ['AND', 'OR']);
  const fields = operations.find(({ operationId }) => operationId === 'listFields')!;
  const type = fields.parameters!.find(({ name }) => name === 'type')!;
  assert.deepEqual(type.schema['enum'], ['orders', 'lines', 'customers', 'inventory']);
  const headers = operations.flatMap(({ parameters = [] }) => parameters.filter((one) => one.in === 'header'));
  assert.deepEqual(new Set(headers.map(({ name }) => name)), new Set(['Idempotency-Key', 'If-Match', 'If-None-Match']));
});

// Holds S1.11.
test('each step of a batch is a named schema, which its operation chooses', () => {
  const { schemas } = document.components;
  const { oneOf, discriminator } = schemas['BatchStep'] as {
    oneOf: { $ref: string }[];
    discriminator: { propertyName: string; mapping: Record<string, string> };
  };
  assert.deepEqual(schemas['Batch']!['items'], { $ref: '#/components/schemas/BatchStep' });
  assert.equal(discriminator.propertyName, 'operation');
  assert.deepEqual(
    oneOf.map(({ $ref }) => $ref),
    Object.values(discriminator.mapping),
  );
  for (const [operation, $ref] of Object.entries(discriminator.mapping)) {
    const name = $ref.split('/').at(-1)!;
    assert.equal(name, `${operation[0]!.toUpperCase()}${operation.slice(1)}Step`);
    const { properties } = schemas[name] as { properties: Record<string, Schema> };
    assert.equal(properties['operation']!['const'], operation);
  }
});

// Holds S1.11.
test('no schema has the name of a global of JavaScript or of a type that TypeScript declares', () => {
  const folder = join(ROOT, 'node_modules/@typescript');
  const declared = globSync('*/lib/lib.*.d.ts', { cwd: folder }).flatMap((file) => {
    const lines = readFileSync(join(folder, file), 'utf8').matchAll(
      /^(?:declare )?(?:interface|type|var|class) (\w+)/gm,
    );
    return [...lines].map(([, name]) => name!);
  });
  assert.ok(declared.includes('Date') && declared.includes('Partial') && declared.includes('Response'));
  const globals = new Set([...declared, ...Object.getOwnPropertyNames(globalThis)]);
  assert.deepEqual(
    Object.keys(document.components.schemas).filter((name) => globals.has(name)),
    [],
  );
});

// Holds S1.11.
test('a single read returns the record itself, and the fields of a record have the order of its dictionary', () => {
  const dataOf = (name: string): Schema => {
    const { responses } = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .find(({ operationId }) => operationId === name)!;
    const { properties } = responses['200']!.content!['application/json']!.schema as { properties: Schema };
    return properties['data'] as Schema;
  };
  const records = { getOrder: 'Order', getCustomer: 'Customer', getInventoryItem: 'InventoryItem' };
  for (const [name, record] of Object.entries(records)) {
    assert.deepEqual(dataOf(name), { $ref: `#/components/schemas/${record}` });
    const { allOf = [], ...own } = inlined.components.schemas[record] as Schema & { allOf?: Schema[] };
    const order = [...allOf, own].flatMap((part) => Object.keys((part['properties'] as Schema | undefined) ?? {}));
    const { data } = exampleOf(
      operations.find(({ operationId }) => operationId === name)!.responses['200']!.content!['application/json']!,
    ) as { data: object };
    assert.deepEqual(order, Object.keys(data), record);
  }
});

test('an error says what to do and where it is documented; counted responses have the limits', () => {
  const { required } = document.components.schemas['ApiError'] as { required: string[] };
  assert.ok(required.includes('remedy') && required.includes('docs'));
  for (const { operationId, responses, path } of operations.filter((one) => one.path.startsWith(BASE_PATH)))
    for (const [status, { headers = {}, content }] of Object.entries(responses)) {
      const where = `${operationId} ${status} ${path}`;
      const isCounted = 'X-Month-Requests' in headers;
      assert.ok(isCounted || !/^(200|304|404|412|422)$/.test(status), where);
      assert.deepEqual(['RateLimit-Policy' in headers, 'RateLimit' in headers], [isCounted, isCounted], where);
      if (status < '400') continue;
      const example = exampleOf(content!['application/json']!) as { code: ErrorCode; remedy: string; docs: string };
      assert.deepEqual([example.remedy, example.docs], [ERRORS[example.code].remedy, `/docs/errors#${example.code}`]);
    }
});

test('the response of docs/nginx.conf when no node responds is an error of the contract', () => {
  const [, body] = /return 503 '(\{.*\})';/.exec(readFileSync(join(ROOT, 'docs/nginx.conf'), 'utf8'))!;
  const error = JSON.parse(body!) as { code: ErrorCode; remedy: string; docs: string };
  const { required } = document.components.schemas['ApiError'] as { required: string[] };
  assert.deepEqual(
    required.filter((name) => !(name in error)),
    [],
  );
  assert.deepEqual([error.remedy, error.docs], [ERRORS[error.code].remedy, `/docs/errors#${error.code}`]);
});

test('every request body and every response has an example that its schema allows', () => {
  let examples = 0;
  for (const { operationId, requestBody, responses } of operations) {
    const answers = Object.entries(responses).filter(([status]) => status !== '304');
    const media: [string, Exemplified | undefined][] = answers.map(([status, { content }]) => [
      status,
      content?.['application/json'],
    ]);
    if (requestBody) {
      assert.equal(requestBody.required, true);
      media.push(['request', requestBody.content['application/json']]);
    }
    for (const [what, one] of media) {
      assert.ok(one?.example !== undefined, `${operationId} ${what} has no example`);
      expectValid(one.schema, exampleOf(one), `${operationId} ${what}`);
      examples++;
    }
  }
  assert.ok(examples > 100, `${examples} examples`);
});

// Holds S1.5.
test('the schemas refuse values that are not an envelope, a record or an error', () => {
  for (const { operationId, responses } of operations.filter(({ path }) => path.startsWith(BASE_PATH)))
    for (const [status, { content }] of Object.entries(responses)) {
      if (status === '304') continue;
      const media = content!['application/json']!;
      const example = exampleOf(media) as Record<string, unknown>;
      const validate = ajv.compile(media.schema);
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

test('the demo tenant responds to every example as shown, except for lock codes and times', async (context) => {
  const demo = await Service.start({ env: { STOREROOM_DEMO: 'on' } });
  context.after(() => demo.stop());
  const made = await demo.command(...'keys create demo --name office --scope office --json'.split(' '));
  const keys = { ...(made.json() as Keys), teamID: 'demo' };
  let lockCode = '';
  for (const { operationId, method, path, parameters = [], requestBody, responses } of operations.filter((one) =>
    one.path.startsWith(BASE_PATH),
  )) {
    const shown = parameters
      .filter(({ name, example }) => name !== 'teamID' && example !== undefined)
      .map((parameter) => [parameter.name, String(exampleOf(parameter))]);
    const body = structuredClone(requestBody && exampleOf(requestBody.content['application/json']!)) as
      | Record<string, unknown>
      | undefined;
    if (operationId === 'updateLineItem') body!['LINE_REF_LOCK_CODE'] = lockCode;
    if (operationId === 'invoiceOrder' || operationId === 'returnOrder')
      body!['lines'] = [{ LINE_REF_LOCK_CODE: lockCode, QUANTITY: '10' }];
    const answer = await demo.call(keys, method, path.slice(BASE_PATH.length), {
      query: shown,
      body,
    });
    assert.equal(answer.status, 200, `${operationId}: ${answer.text}`);
    if (operationId === 'addLineItem') lockCode = answer.body.data.LINE_REF_LOCK_CODE as string;
    // Its answer depends on when it is called.
    if (operationId === 'getUsage') continue;
    const found = comparable(answer.body);
    assert.deepEqual(found, comparable(exampleOf(responses['200']!.content!['application/json']!)), operationId);
  }
});

/** Returns an answer without values that differ each time a record is made, and with only the first of its items. */
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
    at: _at,
    AT: _time,
    MODIFIED_DATE: _changed,
    ...values
  } = record as Record<string, string>;
  return values;
}

// Holds S1.2.
test('the parameters are as specified; required ones are marked and have an example', () => {
  for (const { operationId, path, parameters = [] } of operations.filter((one) => one.path.startsWith(BASE_PATH))) {
    const demanded = parameters.filter((one) => one.required && one.name !== 'teamID').map(({ name }) => name);
    assert.deepEqual(demanded, [REQUIRED[operationId]].filter(Boolean), operationId);
    const teamID = parameters.find(({ name, in: place }) => name === 'teamID' && place === 'query');
    assert.equal(
      teamID?.required,
      !/\/(create|update|cancel|line_item|approve|invoice|return|void|receive|count|adjust)$/.test(path),
      `${operationId}: a body of fields can carry teamID instead`,
    );
    const hasPages = parameters.some(({ name }) => name === 'maxReturn');
    assert.equal(hasPages, /\/(query|changes|movements)$/.test(path), operationId);
    for (const parameter of parameters) {
      const { name, description, required: isRequired, schema } = parameter;
      const example = exampleOf(parameter);
      assert.ok(description, `${operationId} ${name}`);
      assert.ok(!isRequired || example !== undefined, `${operationId} ${name} has no example`);
      if (example !== undefined) expectValid(schema, example, `${operationId} ${name}`);
    }
  }
});

test('each documented value of a parameter is accepted by its operation', async () => {
  const keys = await service.makeTenant('choices');
  const accepted: string[] = [];
  for (const { operationId, method, path, parameters = [] } of operations.filter(({ path: one }) =>
    one.startsWith(BASE_PATH),
  ))
    for (const { name, schema } of parameters)
      for (const choice of (schema['enum'] as string[] | undefined) ?? []) {
        const options = { query: { [name]: choice }, body: method === 'GET' ? undefined : [] };
        const { status } = await service.call(keys, method, path.slice(BASE_PATH.length), options);
        assert.equal(status, 200, `${operationId} ${name}=${choice}`);
        accepted.push(`${operationId} ${name}=${choice}`);
      }
  assert.ok(accepted.includes('queryOrders include=lines') && accepted.includes('listChanges include=records'));
});

// Holds S1.9.
test('the service serves the contract that is made from its operations, and openapi.json in the repository', () => {
  const found = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
  assert.deepEqual(document, JSON.parse(JSON.stringify(renderContract())), 'run `npm run generate`');
  assert.deepEqual(found, document);
});

test('the file is under 227 kB, defines every name that it uses, and describes every member of every schema', () => {
  assert.ok(readFileSync(join(ROOT, 'openapi.json')).length < 227_000);
  const names = ['Order', 'OrderLine', 'Customer', 'InventoryItem', 'Filter', 'StorefrontLookup', 'ApiError'];
  for (const name of names) assert.ok(name in document.components.schemas, name);
  const ENVELOPE = ['status', 'data', 'subRecords', 'shipping_address', 'ORDER_LINEITEMS', 'order_type'];
  for (const [name, schema] of Object.entries(inlined.components.schemas))
    for (const part of [schema, ...((schema['allOf'] as Schema[] | undefined) ?? [])])
      for (const [member, { description }] of Object.entries((part['properties'] ?? {}) as Record<string, Schema>))
        assert.ok(ENVELOPE.includes(member) || description, `${name}.${member}`);
});

test('an object with a type for other members requires its named ones, so that generated types compile', () => {
  const parts = Object.entries(inlined.components.schemas).flatMap(([name, schema]) =>
    [schema, ...((schema['allOf'] as Schema[] | undefined) ?? [])].map((part) => ({ name, ...part })),
  ) as { name: string; properties?: object; required?: string[]; additionalProperties?: Schema | false }[];
  for (const { name, properties = {}, required = [], additionalProperties: others = false } of parts)
    if (others && others['type'] !== undefined) assert.deepEqual(required, Object.keys(properties), name);
});

test('each value that the service accepts for a field is valid in its schema, and flags and stages are enums', () => {
  const { schemas } = inlined.components;
  const flags = ['Y', 'y', 'N', 'TRUE', 'False', '1', '0', 'yes', true, false, 1, 0];
  const others = ['', null, 2, -1.5, '+03.50', '3/4/2026', '2026-03-04', '2026-03-04T01:02:03Z', 'x'];
  const types = { text: 'Value', number: 'DecimalValue', date: 'CalendarDateValue', flag: 'FlagValue' };
  let taken = 0;
  for (const [type, name] of Object.entries(types)) {
    const validate = ajv.compile(schemas[name]!);
    for (const value of [...flags, ...others])
      if (isTaken(type as FieldType, value)) {
        taken++;
        assert.ok(validate(value), `${name}: ${JSON.stringify(value)}`);
      }
  }
  assert.ok(taken > 40, `${taken} values`);
  assert.equal(ajv.compile(schemas['FlagValue']!)('yes'), false);
  assert.deepEqual(schemas['Flag']!['enum'], ['Y', 'N', '']);
  assert.deepEqual(schemas['Stage']!['enum'], ['worksheet', 'quote', 'sales_order', 'invoice']);
});

function isTaken(type: FieldType, value: RawValue): boolean {
  try {
    parseValue({ name: 'X', type } as Field, value);
    return true;
  } catch {
    return false;
  }
}

test('the numbers in the contract equal the settings; the default page size is within its maximum', async (context) => {
  const env = { STOREROOM_MAX_RETURN_DEFAULT: '3', STOREROOM_RETURN_MAX: '2', STOREROOM_IDEMPOTENCY_HOURS: '48' };
  const small = await Service.start({ env });
  context.after(() => small.stop());
  const text = await (await fetch(`${small.origin}/openapi.json`)).text();
  assert.match(text, /Records per page\. Default 2, maximum 2; larger values are treated as 2\./);
  assert.match(text, /safe to retry for at least 48 hours:/);
  const keys = await small.makeTenant('small');
  for (let count = 0; count < 3; count++) await small.call(keys, 'PUT', '/orders/create', { body: {} });
  const page = await small.call(keys, 'POST', '/orders/query', { body: [] });
  assert.deepEqual([page.body.data.length, page.headers.get('x-has-more')], [2, 'true']);
});
