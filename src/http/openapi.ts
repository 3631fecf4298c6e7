/**
 * The contract: what each operation's schema says to Fastify, and the OpenAPI 3.1 document made from the same schemas, with an example for every
 * request and answer. Source: specification section 4; https://spec.openapis.org/oas/v3.1.1.html.
 */
import type { FastifyInstance, FastifySchema } from 'fastify';
import swagger from '@fastify/swagger';
import { ERRORS, type ErrorCode } from '../errors.ts';
import type { Operation } from './operations/operation.ts';
import { codesByStatus, errorAnswer, textOf, type Schema } from './schemas.ts';

type Json = Record<string, unknown>;
interface MediaType { schema?: Json; example?: unknown } // prettier-ignore
interface DocumentedOperation {
  operationId: string;
  parameters?: { name: string; required?: boolean; example?: unknown }[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, { headers?: Json; content?: Record<string, MediaType> }>;
}

const REQUEST_ID_EXAMPLE = 'k3x9q2-1a';
const JSON_MEDIA = 'application/json';
const STATE_EXAMPLES: Json = { 200: { status: 'ok' }, 503: { status: 'unavailable' } };

/** Codes that no operation answers: they belong to other paths, to the command line or to the dashboard. */
const ELSEWHERE: ErrorCode[] = ['UNKNOWN_PATH', 'METHOD_NOT_ALLOWED', 'TENANT_NOT_FOUND', 'COMMAND_REFUSED', 'REQUEST_TIMEOUT', 'NOT_SIGNED_IN', 'SIGN_IN_REFUSED', 'SECOND_FACTOR_NEEDED', 'CROSS_SITE', 'ROLE_NOT_ALLOWED', 'LINK_INVALID', 'WEAK_PASSWORD', 'USER_EXISTS', 'LAST_OWNER', 'TOO_MANY_ATTEMPTS']; // prettier-ignore
const ONLY_SINGLE: ErrorCode[] = ['NOT_FOUND'];
const ONLY_QUERIES: ErrorCode[] = ['INVALID_FILTER', 'TOO_MANY_FILTERS', 'QUERY_TOO_COSTLY', 'INVALID_CURSOR'];
const ONLY_WRITES: ErrorCode[] = ['IDEMPOTENCY_KEY_RUNNING', 'IDEMPOTENCY_KEY_REUSED', 'INVALID_IDEMPOTENCY_KEY', 'MISSING_FIELD', 'FIELD_NOT_ALLOWED', 'ORDER_NOT_FOUND', 'LINE_NOT_FOUND', 'CUSTOMER_NOT_FOUND', 'CODE_TAKEN', 'UNKNOWN_REFERENCE', 'STAGE_NOT_ALLOWED', 'QUANTITY_NOT_ALLOWED', 'SERIALS_NOT_ALLOWED']; // prettier-ignore
const ONLY_BODIES: ErrorCode[] = [
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'INVALID_JSON',
  'INVALID_BODY',
  'UNKNOWN_FIELD',
];

function mayAnswer({ method, writes, path }: Operation, code: ErrorCode): boolean {
  if (ELSEWHERE.includes(code)) return false;
  if (ONLY_SINGLE.includes(code)) return path.endsWith('/single');
  if (ONLY_QUERIES.includes(code)) return path.endsWith('/query') || (code === 'FIELD_NOT_ALLOWED' && writes);
  if (code === 'FIELD_NOT_ALLOWED') return method !== 'GET';
  if (ONLY_WRITES.includes(code)) return writes;
  if (ONLY_BODIES.includes(code)) return method !== 'GET';
  return code !== 'BODY_NOT_ALLOWED' || method === 'GET';
}

const idempotencyHeader: Schema = {
  type: 'object',
  properties: {
    'idempotency-key': textOf(
      'Makes the request repeatable for at least 24 hours: the same key answers the same without writing again.',
      {
        pattern: '^[!-~]{1,255}$',
      },
    ),
  },
};

/** The refusals an answer may be, by HTTP status, as Fastify takes them. */
export function describeErrors(matches: (code: ErrorCode) => boolean): Record<string, Schema> {
  const described = ([httpStatus, codes]: [number, ErrorCode[]]): [number, Schema] => [
    httpStatus,
    { description: codes.map((code) => `\`${code}\``).join(', '), ...errorAnswer(codes) },
  ];
  return Object.fromEntries([...codesByStatus(matches)].map(described));
}

/** The schemas of an operation as Fastify takes them. */
export function describeOperation(operation: Operation): FastifySchema {
  const { name, summary, description, tag, query, body, writes, answer } = operation;
  return {
    operationId: name,
    summary,
    description,
    tags: [tag],
    querystring: query,
    ...(body && { body }),
    ...(writes && { headers: idempotencyHeader }),
    response: { 200: { description: 'Success.', ...answer }, ...describeErrors((code) => mayAnswer(operation, code)) },
  };
}

export async function addContract(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Storeroom: Order, Customer and Inventory Open API',
        version: '1.0.0',
        description:
          'A tenant-scoped HTTP API over an inventory management system (PIMS). Every authenticated call is metered and counts toward the monthly request total.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      tags: ['Orders', 'Customers', 'Inventory', 'Service'].map((name) => ({
        name,
        description: `${name} operations.`,
      })),
      security: [{ basic: [] }, { apiId: [], apiSecret: [] }],
      components: {
        securitySchemes: {
          basic: {
            type: 'http',
            scheme: 'basic',
            description: 'Recommended: apiID as user name, apiSecret as password.',
          },
          apiId: { type: 'apiKey', in: 'query', name: 'apiID' },
          apiSecret: { type: 'apiKey', in: 'query', name: 'apiSecret' },
        },
      },
    },
  });
}

/** The finished document: what the plugin made of the schemas, with headers and examples. */
export function renderContract(app: FastifyInstance, operations: readonly Operation[]): Json {
  const document = app.swagger() as unknown as { paths: Record<string, Record<string, DocumentedOperation>> };
  for (const described of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
    complete(
      described,
      operations.find(({ name }) => name === described.operationId),
    );
  return document;
}

/** What is no operation is /healthz or /readyz. */
function complete(described: DocumentedOperation, operation: Operation | undefined): void {
  if (described.requestBody) {
    described.requestBody.required = true;
    described.requestBody.content[JSON_MEDIA]!.example = operation?.example.body;
  }
  const sent: Json = { teamID: 'demo', ...operation?.example.query };
  for (const parameter of described.parameters ?? []) {
    if (parameter.name in sent) parameter.example = sent[parameter.name];
    // Only a body of fields can carry it instead.
    if (parameter.name === 'teamID') parameter.required = operation?.writes !== true;
  }
  const answers: Json = operation ? { 200: operation.example.answer } : STATE_EXAMPLES;
  for (const [httpStatus, response] of Object.entries(described.responses)) {
    const media = response.content?.[JSON_MEDIA];
    if (!media) continue;
    delete media.schema?.['description'];
    response.headers = describeHeaders(Number(httpStatus), operation);
    media.example = answers[httpStatus] ?? exampleError(media.schema!);
  }
}

function exampleError(schema: Json): Json {
  const [code] = (schema['properties'] as { code: { enum: ErrorCode[] } }).code.enum;
  return {
    status: 'error',
    data: null,
    subRecords: null,
    message: ERRORS[code!].message,
    code,
    requestId: REQUEST_ID_EXAMPLE,
  };
}

function describeHeaders(httpStatus: number, operation: Operation | undefined): Json {
  const text = (description: string): Json => ({ description, schema: { type: 'string' } });
  if (!operation) return { 'X-Request-Id': text('Names this request in logs and reports.') };
  const { path, writes } = operation;
  return {
    'X-Request-Id': text('Names this request in logs and reports.'),
    ...(httpStatus !== 401 && {
      'X-Month-Requests': text(
        "The tenant's authenticated calls this calendar month (UTC), this one included; absent before authentication.",
      ),
    }),
    ...(httpStatus === 401 && { 'WWW-Authenticate': text('Basic realm="storeroom"') }),
    ...([409, 429, 503].includes(httpStatus) && { 'Retry-After': text('Seconds to wait before repeating.') }),
    ...(httpStatus === 200 &&
      path.endsWith('/query') && {
        'X-Has-More': text('true when there are more records; then X-Next-Cursor is there too.'),
        'X-Next-Cursor': text('Send as cursor to go on.'),
      }),
    ...(httpStatus === 200 &&
      writes && { 'Idempotent-Replayed': text('true when the answer was given before under this Idempotency-Key.') }),
  };
}
