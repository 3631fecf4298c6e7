/** The operations of the contract as tools: names, descriptions, JSON Schemas, and hints for agents. */
import { OPERATIONS } from '../../client/src/contract.ts';
import { refuseField } from '../../src/errors.ts';
import {
  lastName,
  readOperations,
  type Contract,
  type DocumentedOperation,
  type DocumentedParameter,
} from '../../src/http/contract/documented-operations.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & JsonObject;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly isWrite: boolean;
  /** The parameters of the operation by the arguments of the tool. */
  readonly parameters: ReadonlyMap<string, DocumentedParameter>;
  readonly hasBody: boolean;
}

export interface ToolRequest {
  readonly query: Record<string, string>;
  readonly header: Record<string, string>;
  readonly body: unknown;
}

/**
 * Parameters that tools do not have. Each server has one team. An agent keeps no earlier response for a comparison, and
 * assumes that a tool that waits has failed.
 */
const NOT_ASKED = ['teamID', 'If-None-Match', 'wait'];
const SCHEMAS = '#/components/schemas/';
/** The sentence that tools lack, because an agent has no credentials to send. */
const CREDENTIALS = ' Credentials may also be sent in the body.';
/** An agent reads every record of a response, so it gets few unless it asks for more. */
const PAGE = { argument: 'maxReturn', records: '50', about: 'This tool requests 50 by default.' };

/** Returns the path below which the operations are. The contract has whole paths, and the client the parts below it. */
export function findBasePath(contract: Contract): string {
  const [name, , below] = ['getOrder' as const, ...OPERATIONS.getOrder];
  const { path } = readOperations(contract).find((operation) => operation.name === name)!;
  return path.slice(0, -below.length);
}

export const listTools = (contract: Contract): Tool[] =>
  readOperations(contract)
    .filter(({ needsKeys }) => needsKeys)
    .map((operation) => describeTool(operation, contract.components.schemas));

function describeTool(operation: DocumentedOperation, schemas: Contract['components']['schemas']): Tool {
  const { name, method, summary, description, isWrite, body } = operation;
  const asked = operation.parameters.filter((parameter) => !NOT_ASKED.includes(parameter.name));
  const parameters = new Map(asked.map((parameter) => [argumentOf(parameter), parameter]));
  const properties: Record<string, unknown> = {};
  for (const [argument, { schema, description: about }] of parameters)
    properties[argument] = { ...schema, description: argument === PAGE.argument ? `${about} ${PAGE.about}` : about };
  if (body) properties['body'] = body.schema;
  const required = [...parameters].filter(([, { isRequired }]) => isRequired).map(([argument]) => argument);
  if (body) required.push('body');
  const schema = { type: 'object', properties, required, additionalProperties: false };
  return {
    name,
    title: summary,
    description: `${summary}. ${description}`,
    inputSchema: withDefinitions(schema, schemas),
    annotations: {
      readOnlyHint: !isWrite,
      // PUT only adds records. The other writes can change or cancel an existing record.
      destructiveHint: isWrite && method !== 'put',
      // Without an idempotency key, a repeated creation or batch is written twice.
      idempotentHint: !isWrite || (parameters.has('ifMatch') && method !== 'put'),
      openWorldHint: false,
    },
    isWrite,
    parameters,
    hasBody: body !== undefined,
  };
}

/** Returns the argument for a parameter: `idempotencyKey` for `Idempotency-Key`. */
const argumentOf = ({ name, place }: DocumentedParameter) =>
  place === 'query' ? name : name[0]!.toLowerCase() + name.slice(1).replace('-', '');

/** Returns the schema with the definitions to which it refers. */
function withDefinitions(schema: JsonObject, schemas: Contract['components']['schemas']): Tool['inputSchema'] {
  const found: Record<string, unknown> = {};
  const collect = (name: string, value: unknown): unknown => {
    // If a body allows credentials besides its own members, the tool allows only the body's own members.
    if (name === 'additionalProperties' && JSON.stringify(value).includes('apiSecret')) return false;
    if (typeof value !== 'string') return value;
    if (!value.startsWith(SCHEMAS)) return value.replace(CREDENTIALS, '');
    const referred = lastName(value);
    if (!(referred in found)) {
      found[referred] = true;
      found[referred] = JSON.parse(JSON.stringify(schemas[referred], collect));
    }
    return `#/$defs/${referred}`;
  };
  const own = JSON.parse(JSON.stringify(schema, collect)) as Tool['inputSchema'];
  return Object.keys(found).length > 0 ? { ...own, $defs: found } : own;
}

/** Builds a request. Throws UNKNOWN_PARAMETER or INVALID_PARAMETER; the service checks the values. */
export function buildRequest({ name, parameters, hasBody }: Tool, given: JsonObject): ToolRequest {
  const request: ToolRequest = { query: {}, header: {}, body: hasBody ? given['body'] : undefined };
  for (const [argument, value] of Object.entries(given)) {
    if (argument === 'body' && hasBody) continue;
    const parameter = parameters.get(argument);
    if (!parameter) {
      const known = [...parameters.keys(), ...(hasBody ? ['body'] : [])].join(', ');
      throw refuseField(
        'UNKNOWN_PARAMETER',
        argument,
        `${name} has no argument '${argument}'. Known arguments: ${known}.`,
      );
    }
    if (typeof value !== 'string' && typeof value !== 'number')
      throw refuseField('INVALID_PARAMETER', argument, `${argument} must be a string.`);
    request[parameter.place][parameter.name] = String(value);
  }
  if (parameters.has(PAGE.argument)) request.query[PAGE.argument] ??= PAGE.records;
  return request;
}
