/**
 * The contract: an OpenAPI 3.1 document made from the operations, their schemas and the table of errors, with an
 * example for every request and answer. Source: specification section 4; https://spec.openapis.org/oas/v3.1.1.html.
 */
import { VERSION } from '../assets.ts';
import { ERRORS, type ErrorCode, type ErrorPlace } from '../errors.ts';
import { STATUS_CODES } from './node-http.ts';
import { BASE_PATH, type Operation, type OperationKind } from './operations/operation.ts';
import { IDEMPOTENCY_KEY, ref, SCHEMAS } from './operations/operation-schemas.ts';
import { mapValues, textOf, type Schema } from './schemas.ts';

type Part = Readonly<Record<string, unknown>>;
type Parts = Record<string, Part>;
/** A kind of operation, or a path of the service itself. */
type AnsweringKind = OperationKind | 'service';

const KINDS: readonly AnsweringKind[] = ['single', 'lookup', 'lookups', 'query', 'write', 'batch', 'service'];
/** The kinds that can answer the codes of a place. */
const KINDS_OF_PLACE: Record<ErrorPlace, readonly AnsweringKind[]> = {
  any: KINDS,
  operation: ['single', 'lookup', 'lookups', 'query', 'write', 'batch'],
  get: ['single', 'lookup', 'service'],
  read: ['single', 'lookup', 'lookups', 'query'],
  single: ['single'],
  query: ['query'],
  write: ['write', 'batch'],
  batch: ['batch'],
  body: ['lookups', 'query', 'write', 'batch'],
  fields: ['single', 'query', 'write', 'batch'],
  path: [],
  dashboard: [],
  command: [],
};

const HEADERS: Readonly<Record<string, string>> = {
  'X-Request-Id': 'Names this request in logs and reports.',
  'X-Month-Requests': "The tenant's calls this calendar month (UTC), this one included; absent before authentication.",
  'WWW-Authenticate': 'Basic realm="storeroom"',
  'Retry-After': 'Seconds to wait before you repeat the request.',
  ETag: 'Stands for this answer and no other: every change of the record changes it, of an order also each of its lines.',
  'X-Has-More': 'true when there are more records; X-Next-Cursor is then present too.',
  'X-Next-Cursor': 'Send it as cursor to get the next page.',
  'X-Total-Count': 'How many records match, on all pages together; only with count=exact.',
  'Idempotent-Replayed': 'true when the answer repeats the one first given under this Idempotency-Key.',
};
const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = { teamID: 'demo', maxReturn: '50' };
const CODES = Object.keys(ERRORS) as ErrorCode[];
const HOUR_MS = 3_600_000;

/** `/orders/single` gives `Orders`. */
const tagOf = (path: string): string => path[1]!.toUpperCase() + path.split('/')[1]!.slice(1);
const linkTo = (section: string, name: string): Part => ({ $ref: `#/components/${section}/${name}` });
const exampleOf = (value: unknown): Part => ({ demo: { value } });
const jsonContent = (schema: Schema, example: unknown): Part => ({
  'application/json': { schema, examples: exampleOf(example) },
});
const linkHeaders = (names: readonly string[]): Part =>
  Object.fromEntries(names.map((name) => [name, linkTo('headers', name)]));
const describeAnswer = (description: string, headers: readonly string[], schema: Schema, example: unknown): Part => ({
  description,
  headers: linkHeaders(headers),
  content: jsonContent(schema, example),
});

export function renderContract(operations: readonly Operation[], idempotencyMs: number): Part {
  const { responses, links } = describeErrors();
  const parameters: Parts = { 'idempotency-key': describeIdempotencyKey(idempotencyMs), ...CONDITIONS };
  const schemas: Record<string, Schema> = { ...SCHEMAS };
  const paths: Record<string, Parts> = {};
  for (const operation of operations) {
    const { name, method, path, summary, description, body, example } = operation;
    if (body) schemas[body.name] = body.documented;
    (paths[BASE_PATH + path] ??= {})[method.toLowerCase()] = {
      operationId: name,
      summary,
      description,
      tags: [tagOf(path)],
      parameters: describeParameters(operation, parameters),
      ...(body && { requestBody: { required: true, content: jsonContent(ref(body.name), example.body) } }),
      responses: describeResponses(operation, links),
    };
  }
  paths['/healthz'] = { get: describeState('getHealth', 'Whether the service can serve', links.service) };
  paths['/readyz'] = { get: describeState('getReadiness', 'Whether to send the service requests', links.service) };
  Object.assign(responses, SERVICE_STATES, { NotModified: NOT_MODIFIED });
  const headers = mapValues(HEADERS, (description) => ({ description, schema: textOf() }));
  return { ...HEAD, paths, components: { securitySchemes: SECURITY, schemas, parameters, headers, responses } };
}

const SECURITY = {
  basic: { type: 'http', scheme: 'basic', description: 'Recommended: apiID as user name, apiSecret as password.' },
  apiId: { type: 'apiKey', in: 'query', name: 'apiID', description: 'API ID, if no Basic credentials are sent.' },
  apiSecret: {
    type: 'apiKey',
    in: 'query',
    name: 'apiSecret',
    description: 'API Secret, if no Basic credentials are sent. Prefer Basic: URLs end up in logs.',
  },
};

const HEAD = {
  openapi: '3.1.1',
  info: {
    title: 'Storeroom: Order, Customer and Inventory Open API',
    version: VERSION,
    description: 'An HTTP API over the inventory systems (PIMS) of many tenants. Every authenticated call counts.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/' }],
  security: [{ basic: [] }, { apiId: [], apiSecret: [] }],
  tags: ['Orders', 'Customers', 'Inventory', 'Batch', 'Fields', 'Usage', 'Service'].map((name) => ({
    name,
    description: `${name} operations.`,
  })),
};

/** The parameters of an operation beside the credentials, which are security schemes. Shared ones become components. */
function describeParameters({ kind, takesIfMatch, query, example }: Operation, shared: Parts): Part[] {
  const properties = query['properties'] as Record<string, Schema>;
  const needed = query['required'] as string[];
  const named = Object.entries(properties).filter(([name]) => name !== 'apiID' && name !== 'apiSecret');
  const described = named.map(([name, { description, ...schema }]) => {
    const shown = example.query?.[name] ?? PARAMETER_EXAMPLES[name];
    const isRequired = name === 'teamID' ? kind !== 'write' : needed.includes(name);
    const examples = shown === undefined ? {} : { examples: exampleOf(shown) };
    const parameter = { name, in: 'query', required: isRequired, description, schema, ...examples };
    if (needed.includes(name)) return parameter;
    const component = name === 'teamID' && !isRequired ? 'teamIDUnlessInBody' : name;
    shared[component] = parameter;
    return linkTo('parameters', component);
  });
  const headers: string[] = [];
  if (kind === 'write' || kind === 'batch') headers.push('idempotency-key');
  if (takesIfMatch) headers.push('if-match');
  if (kind === 'single') headers.push('if-none-match');
  return [...described, ...headers.map((name) => linkTo('parameters', name))];
}

const describeIdempotencyKey = (keptMs: number): Part => ({
  name: 'idempotency-key',
  in: 'header',
  description: `Makes the write repeatable for at least ${keptMs / HOUR_MS} hours: the same key, the same answer.`,
  schema: IDEMPOTENCY_KEY,
});

const TAGS = textOf('ETags with a comma between them, or *.');
const CONDITIONS: Parts = {
  'if-match': {
    name: 'if-match',
    in: 'header',
    description: 'The write happens only while the record has one of these ETags, else it answers 412.',
    schema: TAGS,
  },
  'if-none-match': {
    name: 'if-none-match',
    in: 'header',
    description: 'While the answer has one of these ETags it is 304 and comes without its body.',
    schema: TAGS,
  },
};

function describeResponses(operation: Operation, links: Record<AnsweringKind, Parts>): Parts {
  const { 412: changed, ...errors } = links[operation.kind];
  const responses: Parts = { 200: describeSuccess(operation), ...errors };
  if (operation.kind === 'single') responses[304] = linkTo('responses', 'NotModified');
  if (operation.takesIfMatch) responses[412] = changed!;
  return responses;
}

function describeSuccess({ kind, answer, example }: Operation): Part {
  const headers = ['X-Request-Id', 'X-Month-Requests'];
  if (kind === 'single') headers.push('ETag');
  if (kind === 'query') headers.push('X-Has-More', 'X-Next-Cursor', 'X-Total-Count');
  if (kind === 'write' || kind === 'batch') headers.push('Idempotent-Replayed');
  return describeAnswer('Success.', headers, answer, example.answer);
}

/** A component for each status and set of codes, and the links of each kind of operation to them. */
function describeErrors(): { responses: Parts; links: Record<AnsweringKind, Parts> } {
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
  const code = codes[0]!;
  const { message, remedy } = ERRORS[code];
  const told = { message, code, remedy, docs: `/docs/errors#${code}` };
  const example = { status: 'error', data: null, subRecords: null, ...told, requestId: 'k3x9q2-1a' };
  const isCounted = httpStatus !== 401 && codes.some((one) => ERRORS[one].place !== 'any');
  const headers = ['X-Request-Id'];
  if (isCounted) headers.push('X-Month-Requests');
  if (httpStatus === 401) headers.push('WWW-Authenticate');
  if (httpStatus === 412) headers.push('ETag');
  if ([409, 429, 503].includes(httpStatus)) headers.push('Retry-After');
  const schema = { ...ref('Error'), properties: { code: { enum: codes } } };
  return describeAnswer(`${STATUS_CODES[httpStatus]}.`, headers, schema, example);
}

const NOT_MODIFIED = {
  description: 'The answer is as the caller has it.',
  headers: linkHeaders(['X-Request-Id', 'X-Month-Requests', 'ETag']),
};
const STATE = ref('ServiceState');
const SERVICE_STATES: Parts = {
  Usable: describeAnswer('It can.', ['X-Request-Id'], STATE, { status: 'ok' }),
  Unusable: describeAnswer('It cannot.', ['X-Request-Id'], STATE, { status: 'unavailable' }),
};

const describeState = (operationId: string, summary: string, errors: Parts): Part => ({
  operationId,
  summary,
  tags: ['Service'],
  security: [],
  responses: { 200: linkTo('responses', 'Usable'), ...errors, 503: linkTo('responses', 'Unusable') },
});
