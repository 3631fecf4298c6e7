/**
 * Begin here: renders the contract, an OpenAPI 3.1 document, from the operations, their schemas and the table of
 * errors, with an example for every request and response. `npm run generate` writes it into openapi.json, which the
 * service serves with the numbers of its settings. Source: https://spec.openapis.org/oas/v3.1.1.html.
 */
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { VERSION } from '../../src/assets.ts';
import { parseConfig } from '../../src/config.ts';
import { ERRORS, Refusal, type ErrorCode, type ErrorPlace } from '../../src/errors.ts';
import { describeKeptKeys } from '../../src/http/contract/contract.ts';
import type { Contract } from '../../src/http/contract/documented-operations.ts';
import { IDEMPOTENCY_KEY, ref } from '../../src/http/operations/operation-schemas.ts';
import type { Operation, OperationKind } from '../../src/http/operations/operation.ts';
import { allOperations } from '../../src/http/operations/operations.ts';
import { renderError } from '../../src/http/server/answer.ts';
import { BASE_PATH } from '../../src/http/server/protocol.ts';
import { mapValues, textOf, type Schema } from '../../src/json-schema.ts';
import { BATCH_OPERATIONS } from '../../src/pims/batch.ts';
import { RECORD_TYPES } from '../../src/pims/rules/fields.ts';
import { exampleOf, responseOf, schemasOf } from './responses.ts';
import { SCHEMAS } from './schemas.ts';

type Part = Readonly<Record<string, unknown>>;
type Parts = Record<string, Part>;
type AnsweringKind = OperationKind | 'service';

const OPERATION_KINDS: readonly OperationKind[] = [
  'single',
  'lookup',
  'lookups',
  'query',
  'ledger',
  'changes',
  'write',
  'batch',
];
const KINDS: readonly AnsweringKind[] = [...OPERATION_KINDS, 'service'];
/** The kinds of operations that can return the codes of a place. */
const KINDS_OF_PLACE: Record<ErrorPlace, readonly AnsweringKind[]> = {
  any: KINDS,
  operation: OPERATION_KINDS,
  get: ['single', 'lookup', 'ledger', 'changes', 'service'],
  read: ['single', 'lookup', 'lookups', 'query', 'ledger'],
  single: ['single', 'ledger'],
  query: ['query'],
  changes: ['changes'],
  write: ['write', 'batch'],
  batch: ['batch'],
  body: ['lookups', 'query', 'write', 'batch'],
  fields: ['single', 'query', 'write', 'batch'],
  path: [],
  dashboard: [],
  command: [],
};

const HEADERS = {
  'X-Request-Id': 'Identifies this request in logs and reports.',
  'X-Month-Requests':
    "The tenant's calls in this calendar month (UTC), this one included. Absent if the call is not counted.",
  'RateLimit-Policy':
    'Limits of the tenant, such as `"rate";q=20;w=2, "quota";q=1000;w=2592000`: q calls in w seconds; q of "rate" also limits the steps of a batch. Absent if the tenant has no limits.',
  RateLimit:
    'Remaining calls of each limit, such as `"rate";r=19;t=1, "quota";r=990;t=86400`: r calls are left, and the limit is renewed in t seconds. Absent if the tenant has no limits.',
  'WWW-Authenticate': 'Basic realm="storeroom"',
  'Retry-After': 'Seconds to wait before you retry.',
  ETag: 'Identifies this version of the record. Changes whenever the record, or any line of an order, changes.',
  'X-Has-More': 'true if there are more records, movements or changes. A page of records then has X-Next-Cursor too.',
  'X-Next-Cursor': 'Send it as cursor to get the next page.',
  'X-Next-After': 'Position after the page. Send it as `after` to get what follows.',
  'X-Total-Count': 'Number of matching records on all pages together. Only with count=exact.',
  'Idempotent-Replayed': 'true if this repeats the first response to this Idempotency-Key.',
};
/** Headers of every response to an authenticated caller. */
const COUNTED = ['X-Request-Id', 'X-Month-Requests', 'RateLimit-Policy', 'RateLimit'];
const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = { teamID: 'demo', maxReturn: 50, after: 1023 };
/** The service checks these parameters as text with a pattern. For callers they are numbers or words. */
const PARAMETER_SCHEMAS: Readonly<Record<string, Schema>> = {
  maxReturn: { type: 'integer', minimum: 1 },
  type: textOf(undefined, { enum: Object.keys(RECORD_TYPES) }),
  after: { type: 'integer', minimum: 0 },
  wait: { type: 'integer', minimum: 0, maximum: 55 },
};
const CODES = Object.keys(ERRORS) as ErrorCode[];

/** Returns the tag of a path: `Orders` for `/orders/single`. */
const tagOf = (path: string) => path[1]!.toUpperCase() + path.split('/')[1]!.slice(1);
const linkTo = (section: string, name: string): Part => ({ $ref: `#/components/${section}/${name}` });
const jsonContent = (schema: Schema, example: unknown): Part => ({
  'application/json': { schema, example },
});
const linkHeaders = (names: readonly string[]): Part =>
  Object.fromEntries(names.map((name) => [name, linkTo('headers', name)]));
const describeAnswer = (description: string, headers: readonly string[], schema: Schema, example: unknown): Part => ({
  description,
  headers: linkHeaders(headers),
  content: jsonContent(schema, example),
});

/** Returns the contract of a service with the default settings. */
export function renderContract(): Contract {
  const { config } = parseConfig({});
  const { responses, links } = describeErrors();
  const parameters: Parts = { 'Idempotency-Key': describeIdempotencyKey(config.idempotencyHours), ...CONDITIONS };
  const schemas: Record<string, Schema> = { ...SCHEMAS };
  const paths: Record<string, Parts> = {};
  const operations = allOperations({ ...config, cursorKey: new Uint8Array() });
  const steps = BATCH_OPERATIONS.map((one) => operations.find(({ name }) => name === one)!);
  for (const operation of operations) {
    const { name, method, path, summary, description, body, example } = operation;
    Object.assign(schemas, schemasOf(operation, steps));
    (paths[BASE_PATH + path] ??= {})[method.toLowerCase()] = {
      operationId: name,
      summary,
      description,
      tags: [tagOf(path)],
      parameters: describeParameters(operation, parameters),
      ...(body && { requestBody: { required: true, content: jsonContent(ref(body.name), example.body) } }),
      responses: describeResponses(operation, responseOf(operation, steps), links),
    };
  }
  paths['/healthz'] = { get: describeState('getHealth', 'Liveness check', links.service) };
  paths['/readyz'] = { get: describeState('getReadiness', 'Readiness check', links.service) };
  Object.assign(responses, SERVICE_STATES, { NotModified: NOT_MODIFIED });
  const headers = mapValues(HEADERS, (description) => ({ description, schema: textOf() }));
  const components = { securitySchemes: SECURITY, schemas, parameters, headers, responses };
  return { ...HEAD, paths, webhooks: WEBHOOKS, components } as unknown as Contract;
}

const SECURITY = {
  basic: { type: 'http', scheme: 'basic', description: 'The API ID is the user name, the API Secret the password.' },
};

const TAGS = {
  Orders: 'Create, read, change and cancel orders.',
  Lines: 'Find the line items of all orders.',
  Customers: 'Create, read and change customers.',
  Inventory: 'Create, read and change parts.',
  Stock: 'Receive, count and adjust stock, and read its ledger.',
  Changes: 'Follow what is created and updated.',
  Batch: 'Make several writes in one call and one transaction.',
  Fields: 'List the fields of a record type.',
  Usage: 'Read how many calls your team has made.',
  Service: 'Check whether the service is up. These calls need no credentials.',
};

const HEAD = {
  openapi: '3.1.1',
  info: {
    title: 'Storeroom: Order, Customer and Inventory Open API',
    version: VERSION,
    description: readFileSync(join(import.meta.dirname, 'introduction.md'), 'utf8'),
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/' }],
  security: [{ basic: [] }],
  tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
};

/** Describes the parameters of an operation, without credentials in the query. Optional ones become components. */
function describeParameters({ kind, takesIfMatch, query, example }: Operation, shared: Parts): Part[] {
  const needed = query['required'] as string[];
  const named = Object.entries(query['properties'] as Record<string, Schema>).filter(
    ([name]) => name !== 'apiID' && name !== 'apiSecret',
  );
  const described = named.map(([name, { description, ...schema }]) => {
    const shown = example.query?.[name] ?? PARAMETER_EXAMPLES[name];
    const isRequired = name === 'teamID' ? kind !== 'write' : needed.includes(name);
    const isElsewhere = name === 'teamID' && !isRequired;
    const about = isElsewhere ? `${String(description)} It can be a member of the body instead.` : description;
    const parameter = {
      name,
      in: 'query',
      required: isRequired,
      description: about,
      schema: PARAMETER_SCHEMAS[name] ?? schema,
      ...(shown !== undefined && { example: shown }),
    };
    const component = isElsewhere ? 'teamIDUnlessInBody' : name;
    // Operations may have different parameters of one name.
    return !needed.includes(name) && isDeepStrictEqual((shared[component] ??= parameter), parameter)
      ? linkTo('parameters', component)
      : parameter;
  });
  const headers: string[] = [];
  if (kind === 'write' || kind === 'batch') headers.push('Idempotency-Key');
  if (takesIfMatch) headers.push('If-Match');
  if (kind === 'single') headers.push('If-None-Match');
  return [...described, ...headers.map((name) => linkTo('parameters', name))];
}

const describeIdempotencyKey = (keptHours: number): Part => ({
  name: 'Idempotency-Key',
  in: 'header',
  description: describeKeptKeys(keptHours),
  schema: IDEMPOTENCY_KEY,
});

const ETAGS = textOf('Comma-separated ETags, each in double quotes, or *.');
const CONDITIONS = {
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description: 'Write only if the record still has one of these ETags; otherwise the response is 412.',
    schema: ETAGS,
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'Returns 304 with no body if the record still has one of these ETags.',
    schema: ETAGS,
  },
};

function describeResponses(operation: Operation, response: Schema, links: Record<AnsweringKind, Parts>): Parts {
  const { 412: changed, ...errors } = links[operation.kind];
  const responses: Parts = { 200: describeSuccess(operation, response), ...errors };
  if (operation.kind === 'single') responses[304] = linkTo('responses', 'NotModified');
  if (isConditional(operation)) responses[412] = changed!;
  return responses;
}

/** Returns whether a call, or a step of it, can name the state that it expects. */
const isConditional = ({ takesIfMatch, kind, body }: Operation): boolean =>
  takesIfMatch === true || kind === 'batch' || 'FROM_QUANTITY' in (body?.members?.optional ?? {});

function describeSuccess(operation: Operation, response: Schema): Part {
  const { kind } = operation;
  const headers = [...COUNTED];
  if (kind === 'single') headers.push('ETag');
  if (kind === 'query') headers.push('X-Has-More', 'X-Next-Cursor', 'X-Total-Count');
  if (kind === 'ledger' || kind === 'changes') headers.push('X-Has-More', 'X-Next-After');
  if (kind === 'write' || kind === 'batch') headers.push('Idempotent-Replayed');
  return describeAnswer('Success.', headers, response, exampleOf(operation));
}

/** Builds a component for each status and set of codes, and the references of each kind of operation to them. */
function describeErrors() {
  const responses: Parts = {};
  const links = Object.fromEntries(KINDS.map((kind): [string, Parts] => [kind, {}])) as Record<AnsweringKind, Parts>;
  const named = new Map<string, string>();
  for (const kind of KINDS) {
    const codesOfKind = CODES.filter((code) => KINDS_OF_PLACE[ERRORS[code].place].includes(kind));
    for (const [httpStatus, codes] of Map.groupBy(codesOfKind, (code) => ERRORS[code].httpStatus)) {
      const set = `${httpStatus} ${codes.join(' ')}`;
      const title = STATUS_CODES[httpStatus]!.replaceAll(/[^A-Za-z]/g, '');
      const isTaken = title in responses && !named.has(set);
      const name = named.get(set) ?? (isTaken ? `${title}To${kind[0]!.toUpperCase()}${kind.slice(1)}` : title);
      named.set(set, name);
      responses[name] ??= describeError(httpStatus, codes);
      links[kind][httpStatus] = linkTo('responses', name);
    }
  }
  return { responses, links };
}

function describeError(httpStatus: number, codes: readonly ErrorCode[]): Part {
  const isCounted = httpStatus !== 401 && codes.some((one) => ERRORS[one].place !== 'any');
  const headers = isCounted ? [...COUNTED] : ['X-Request-Id'];
  if (httpStatus === 401) headers.push('WWW-Authenticate');
  if (httpStatus === 412) headers.push('ETag');
  if ([409, 429, 503].includes(httpStatus)) headers.push('Retry-After');
  const schema = { ...ref('ApiError'), properties: { code: { enum: codes } } };
  const example: unknown = JSON.parse(renderError(new Refusal(codes[0]!), 'k3x9q2-1a'));
  return describeAnswer(`${STATUS_CODES[httpStatus]}.`, headers, schema, example);
}

const NOT_MODIFIED = {
  description: 'Not modified: the record still matches If-None-Match.',
  headers: linkHeaders([...COUNTED, 'ETag']),
};
const STATE = ref('ServiceState');
const SERVICE_STATES = {
  Usable: describeAnswer('The service is up.', ['X-Request-Id'], STATE, { status: 'ok' }),
  Unusable: describeAnswer('The service is unavailable.', ['X-Request-Id'], STATE, { status: 'unavailable' }),
};

const describeState = (operationId: string, summary: string, errors: Parts): Part => ({
  operationId,
  summary,
  tags: ['Service'],
  security: [],
  responses: { 200: linkTo('responses', 'Usable'), ...errors, 503: linkTo('responses', 'Unusable') },
});

/** The request that the service sends to the webhooks of a tenant. */
const WEBHOOKS = {
  change: {
    post: {
      operationId: 'receiveChange',
      summary: 'A record was created or updated',
      description:
        'Sent for each change, in ascending order of seq and at least once, with the headers webhook-id, webhook-timestamp and webhook-signature of the Standard Webhooks specification.',
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema: ref('WebhookEvent') } } },
      responses: {
        '2XX': {
          description: 'Accepted. After 410 the webhook is paused; after any other status the message is sent again.',
        },
      },
    },
  },
};
