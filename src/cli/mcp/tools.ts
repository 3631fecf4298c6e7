/** The operations of the contract as tools: names, words, JSON Schemas, and what an agent may think of each. */
import { refuseField } from '../../errors.ts';

type Json = Readonly<Record<string, unknown>>;

/** The part of an OpenAPI document that tools are made of. */
export interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ContractOperation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Json>>;
    readonly schemas: Readonly<Record<string, Json>>;
  };
}

interface ContractOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Json } } };
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & Json;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly isWrite: boolean;
  /** The arguments that are parameters of the query, and the headers that others become. */
  readonly query: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly hasBody: boolean;
}

/** What a tool call becomes. */
export interface ToolRequest {
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Each client has its own team; a tool call has no answer of its own to compare with. */
const NOT_ASKED = ['teamID', 'If-None-Match'];
const REFERENCE = '#/components/schemas/';
/** An agent has no credentials to send. */
const CREDENTIALS = ' Credentials may also be sent in the body.';
/** An agent reads every record that it is answered. */
const PAGE = { argument: 'maxReturn', records: '50', about: 'This tool asks for 50 when none is given.' };
const PATHS_OF_SERVICE = 'Service';

export function listTools(contract: Contract): Tool[] {
  return Object.values(contract.paths).flatMap((methods) =>
    Object.entries(methods)
      .filter(([, { tags }]) => !tags.includes(PATHS_OF_SERVICE))
      .map(([method, operation]) => describeTool(contract, operation, method)),
  );
}

function describeTool({ components }: Contract, operation: ContractOperation, method: string): Tool {
  const { operationId: name, summary, description = '', parameters = [], requestBody } = operation;
  const properties: Record<string, unknown> = {};
  const needed: string[] = [];
  const query: string[] = [];
  const headers: Record<string, string> = {};
  for (const parameter of parameters.map((one) => resolve(one, components.parameters))) {
    const { name: sent, in: place, required, schema, description: about } = parameter as Json & { name: string };
    if (NOT_ASKED.includes(sent)) continue;
    // `Idempotency-Key` is `idempotencyKey`.
    const argument = place === 'header' ? sent[0]!.toLowerCase() + sent.slice(1).replace('-', '') : sent;
    if (place === 'header') headers[argument] = sent;
    else query.push(argument);
    properties[argument] = {
      ...(schema as Json),
      description: argument === PAGE.argument ? `${String(about)} ${PAGE.about}` : about,
    };
    if (required === true) needed.push(argument);
  }
  if (requestBody) {
    properties['body'] = requestBody.content['application/json'].schema;
    needed.push('body');
  }
  const inputSchema = withDefinitions(
    { type: 'object', properties, required: needed, additionalProperties: false },
    components.schemas,
  );
  const isWrite = 'idempotencyKey' in headers;
  const annotations = {
    readOnlyHint: !isWrite,
    // What PUT adds stands beside what is there; other writes change or cancel it.
    destructiveHint: isWrite && method !== 'put',
    // Sent again without its key, a new record or a batch comes twice.
    idempotentHint: !isWrite || ('ifMatch' in headers && method !== 'put'),
    openWorldHint: false,
  };
  const words = `${summary}. ${description}`;
  return {
    name,
    title: summary,
    description: words,
    inputSchema,
    annotations,
    isWrite,
    query,
    headers,
    hasBody: requestBody !== undefined,
  };
}

const resolve = (one: Json, parameters: Readonly<Record<string, Json>>): Json =>
  typeof one['$ref'] === 'string' ? parameters[one['$ref'].split('/').at(-1)!]! : one;

/** The schema with all that it refers to inside it. */
function withDefinitions(schema: Json, schemas: Readonly<Record<string, Json>>): Tool['inputSchema'] {
  const found: Record<string, unknown> = {};
  const collect = (name: string, value: unknown): unknown => {
    // Of a body that has no other members than its own and credentials.
    if (name === 'additionalProperties' && JSON.stringify(value).includes('apiSecret')) return false;
    if (typeof value !== 'string') return value;
    if (!value.startsWith(REFERENCE)) return value.replace(CREDENTIALS, '');
    const referred = value.slice(REFERENCE.length);
    if (!(referred in found)) {
      found[referred] = true;
      found[referred] = JSON.parse(JSON.stringify(schemas[referred], collect));
    }
    return `#/$defs/${referred}`;
  };
  const own = JSON.parse(JSON.stringify(schema, collect)) as Tool['inputSchema'];
  return Object.keys(found).length > 0 ? { ...own, $defs: found } : own;
}

/** Throws INVALID_PARAMETER or UNKNOWN_PARAMETER for arguments that the tool does not take; the service checks the rest. */
export function buildRequest(tool: Tool, given: Json): ToolRequest {
  const query: Record<string, string> = {};
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (name === 'body' && tool.hasBody) continue;
    const header = Object.hasOwn(tool.headers, name) ? tool.headers[name] : undefined;
    if (header === undefined && !tool.query.includes(name)) {
      const known = Object.keys(tool.inputSchema['properties'] as object).join(', ');
      throw refuseField('UNKNOWN_PARAMETER', name, `${tool.name} has no argument '${name}'; known are ${known}.`);
    }
    if (typeof value !== 'string' && typeof value !== 'number')
      throw refuseField('INVALID_PARAMETER', name, `${name} must be a string.`);
    if (header === undefined) query[name] = String(value);
    else headers[header] = String(value);
  }
  if (tool.query.includes(PAGE.argument)) query[PAGE.argument] ??= PAGE.records;
  return { query, headers, body: tool.hasBody ? given['body'] : undefined };
}
