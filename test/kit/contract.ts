/**
 * Checks answers against the OpenAPI document of the service itself: the status is documented, the body has the
 * documented shape, and the headers of every answer are there. It does not check what the values mean.
 */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

type Schema = Record<string, unknown>;
interface Document {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>
  >;
}

/**
 * Returns the document with every `$ref` replaced by its target. Members beside a reference apply too; a description
 * replaces the description of the target.
 */
export function inlineRefs<T>(document: T): T {
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...own } = value as Schema;
    const members = Object.fromEntries(Object.entries(own).map(([name, member]) => [name, inline(member)]));
    if ($ref === undefined) return members;
    const path = (/^#\/(.+)$/.exec($ref as string)?.[1] ?? '').split('/');
    const named = inline(path.reduce<unknown>((part, name) => (part as Schema)[name], document)) as Schema;
    const { description = named['description'], ...more } = members;
    const described = description === undefined ? named : { ...named, description };
    return Object.keys(more).length === 0 ? described : { allOf: [described, more] };
  };
  return inline(document) as T;
}

const SOME_FIELDS: Schema = { type: 'object', minProperties: 1, additionalProperties: { type: 'string' } };

/** Returns the schema of an answer whose records have only some fields. The contract describes whole records. */
function allowSomeFields(schema: Schema): Schema {
  const { data, ...others } = schema['properties'] as Record<string, Schema>;
  const some = data!['items'] ? { ...data, items: SOME_FIELDS } : SOME_FIELDS;
  return { ...schema, properties: { ...others, data: some } };
}

/** The error body that all refusals share, for paths and methods that are not in the document. */
const ERROR_SCHEMA: Schema = {
  type: 'object',
  required: ['status', 'data', 'subRecords', 'message', 'code', 'remedy', 'docs', 'requestId'],
  additionalProperties: false,
  properties: {
    status: { const: 'error' },
    data: { type: 'null' },
    subRecords: { type: 'null' },
    message: { type: 'string', minLength: 1 },
    code: { type: 'string', pattern: '^[A-Z][A-Z_]+$' },
    remedy: { type: 'string', minLength: 1 },
    docs: { type: 'string', pattern: '^/docs/errors#[A-Z][A-Z_]+$' },
    field: { type: 'string' },
    suggestion: { type: 'string' },
    requestId: { type: 'string', minLength: 1 },
  },
};

export class Contract {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false });
  readonly #checks = new Map<string, ValidateFunction>();

  private constructor(document: Document) {
    this.#document = document;
  }

  /** Loads the document of a service. Services with the same document share its compiled schemas. */
  static async load(origin: string): Promise<Contract> {
    const text = await (await fetch(`${origin}/openapi.json`)).text();
    let contract = contracts.get(text);
    if (!contract) contracts.set(text, (contract = new Contract(inlineRefs(JSON.parse(text) as Document))));
    return contract;
  }

  check(
    method: string,
    path: string,
    { status, headers, body }: { status: number; headers: Headers; body: unknown },
    hasFields = false,
  ): void {
    const where = `${method} ${path} ${status}`;
    assert.ok(headers.get('x-request-id'), `${where}: X-Request-Id is missing`);
    assert.equal(headers.get('cache-control'), 'no-store', where);
    if (status === 304) {
      assert.ok(this.#document.paths[path]?.[method.toLowerCase()]?.responses['304'], `${where} is not documented`);
      return assert.equal(headers.get('content-type'), null, where);
    }
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', where);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', where);
    if (method === 'HEAD') return;
    const validate = this.#compile(method, path, status, hasFields);
    assert.ok(validate(body), `${where} is not as openapi.json says: ${this.#ajv.errorsText(validate.errors)}`);
    if (status >= 400) assert.equal((body as { requestId: string }).requestId, headers.get('x-request-id'), where);
  }

  /** Compiles the schema of an answer. With `hasFields`, records may have only some of their fields. */
  #compile(method: string, path: string, status: number, hasFields: boolean): ValidateFunction {
    const key = `${method} ${path} ${status} ${hasFields}`;
    let validate = this.#checks.get(key);
    if (!validate) {
      const operation = this.#document.paths[path]?.[method.toLowerCase()];
      const schema = operation ? operation.responses[status]?.content?.['application/json']?.schema : ERROR_SCHEMA;
      assert.ok(schema, `${key} is not documented in openapi.json`);
      validate = this.#ajv.compile(hasFields && status < 300 ? allowSomeFields(schema) : schema);
      this.#checks.set(key, validate);
    }
    return validate;
  }
}

const contracts = new Map<string, Contract>();
