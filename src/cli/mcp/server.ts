/** A server of the Model Context Protocol over the service: tools and resources from the contract. Decision 0055. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../../../client/src/caller.ts';
import { VERSION } from '../../assets.ts';
import { ERRORS, Refusal } from '../../errors.ts';
import type { Contract } from '../../http/contract/documented-operations.ts';
import { callService, FailedCall, renderAnswer } from './caller.ts';
import { buildRequest, type Tool } from './tools.ts';

export interface ServerOptions {
  readonly caller: Caller;
  readonly contract: Contract;
  /** Every operation. Writes are refused unless `canWrite`. */
  readonly tools: readonly Tool[];
  readonly canWrite: boolean;
  /** Maximum bytes of a response. */
  readonly bytesMost: number;
}

const INSTRUCTIONS = `Orders, line items, customers and parts of one team of Storeroom, an inventory system.
Every value is a string; "" means no value. Dates are mm/dd/yyyy. listFields lists the fields for filters and writes.
Send the nextCursor of a response as cursor to get the next page, its nextAfter as after, and its etag as ifMatch with a write.
Every call counts towards the team's quota, so request few records (with maxReturn, fields and filters).`;

const RESOURCES = [
  {
    uri: 'storeroom://openapi.json',
    name: 'contract',
    title: 'The contract, OpenAPI 3.1',
    mimeType: 'application/json',
  },
  {
    uri: 'storeroom://errors.json',
    name: 'errors',
    title: 'Every error code, its meaning and its remedy',
    mimeType: 'application/json',
  },
] as const;

export function createServer(options: ServerOptions): Server {
  const { tools, canWrite, contract } = options;
  const server = new Server(
    { name: 'storeroom', title: 'Storeroom', version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  const offered = tools.filter(({ isWrite }) => canWrite || !isWrite);
  const listed = offered.map(({ name, title, description, inputSchema, annotations }) => {
    return { name, title, description, inputSchema, annotations: { title, ...annotations } };
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    callTool(options, params.name, params.arguments ?? {}, signal),
  );
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = RESOURCES.find((resource) => resource.uri === uri);
    if (!found) throw new McpError(ErrorCode.InvalidParams, `There is no resource ${uri}.`);
    const text = JSON.stringify(found.name === 'contract' ? contract : ERRORS);
    return { contents: [{ uri, mimeType: found.mimeType, text }] };
  });
  return server;
}

async function callTool(
  { caller, tools, canWrite, bytesMost }: ServerOptions,
  name: string,
  given: Record<string, unknown>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const tool = tools.find((one) => one.name === name);
  if (!tool) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name}.`);
  if (tool.isWrite && !canWrite)
    return tell(`${name} writes, and this server is read-only. Tell the user to start it with --write.`, true);
  try {
    const answer = await callService(caller, tool, buildRequest(tool, given), signal);
    return tell(renderAnswer(answer, bytesMost), false);
  } catch (fault) {
    if (fault instanceof FailedCall) return tell(fault.message, true);
    if (fault instanceof Refusal) return tell(`${fault.code}: ${fault.message}`, true);
    throw fault;
  }
}

const tell = (text: string, isError: boolean): CallToolResult => ({ content: [{ type: 'text', text }], isError });
