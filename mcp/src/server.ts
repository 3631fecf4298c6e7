/**
 * Begin here: a server of the Model Context Protocol over the service (decision 0055), with tools and resources from
 * the contract. Runs on standard input and output until the client disconnects, or on Streamable HTTP for clients on
 * this machine until a signal (each request is independent, without sessions).
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Caller } from '../../client/src/caller.ts';
import { ERRORS, Refusal, refuseCommand } from '../../src/errors.ts';
import type { Contract } from '../../src/http/contract/documented-operations.ts';
import { callService, FailedCall, openCaller, renderAnswer, type Environment } from './caller.ts';
import { buildRequest, findBasePath, listTools, type Tool } from './tools.ts';

interface ServerOptions {
  readonly caller: Caller;
  readonly contract: Contract;
  /** The version of Storeroom. */
  readonly version: string;
  /** Every operation. Writes are refused unless `canWrite`. */
  readonly tools: readonly Tool[];
  readonly canWrite: boolean;
  /** Maximum bytes of a response. */
  readonly bytesMax: number;
}

const INSTRUCTIONS = `Orders, line items, customers and parts of one team of Storeroom, an inventory system.
Every field value is a string; "" means no value. Dates are mm/dd/yyyy, times UTC in ISO 8601.
listFields lists the fields for filters and writes.
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

/** Says that a list never changes. Without it, the protocol's package says that it may. */
const UNCHANGED = { listChanged: false };

function createServer(options: ServerOptions): McpServer {
  const { tools, canWrite, contract, version } = options;
  const mcpServer = new McpServer(
    { name: 'storeroom', title: 'Storeroom', version },
    { capabilities: { tools: UNCHANGED, resources: UNCHANGED }, instructions: INSTRUCTIONS },
  );
  // Its own lists need schemas as code, and it would refuse wrong arguments before the tools say what is known.
  const { server } = mcpServer;
  const offered = tools.filter(({ isWrite }) => canWrite || !isWrite);
  const listed = offered.map(({ name, title, description, inputSchema, annotations }) => {
    return { name, title, description, inputSchema, annotations: { title, ...annotations } };
  });
  server.setRequestHandler('tools/list', () => ({ tools: listed }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq: { signal } }) =>
    callTool(options, params.name, params.arguments ?? {}, signal),
  );
  server.setRequestHandler('resources/list', () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const found = RESOURCES.find((resource) => resource.uri === uri);
    if (!found) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource ${uri}.`);
    const text = JSON.stringify(found.name === 'contract' ? contract : ERRORS);
    return { contents: [{ uri, mimeType: found.mimeType, text }] };
  });
  return mcpServer;
}

async function callTool(
  { caller, tools, canWrite, bytesMax }: ServerOptions,
  name: string,
  given: Record<string, unknown>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const tool = tools.find((one) => one.name === name);
  if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name}.`);
  if (tool.isWrite && !canWrite)
    return tell(`${name} writes, and this server is read-only. Tell the user to start it with --write.`, true);
  try {
    const answer = await callService(caller, tool, buildRequest(tool, given), signal);
    return tell(renderAnswer(answer, bytesMax), false);
  } catch (fault) {
    if (fault instanceof FailedCall) return tell(fault.message, true);
    if (fault instanceof Refusal) return tell(`${fault.code}: ${fault.message}`, true);
    throw fault;
  }
}

const tell = (text: string, isError: boolean): CallToolResult => ({ content: [{ type: 'text', text }], isError });

/** Loopback, because everyone who reaches the server calls with its keys. */
const HOST = '127.0.0.1';
const PATH = '/mcp';

/** Listens until a signal, and returns the address. Throws COMMAND_REFUSED if it cannot listen on the port. */
async function listenHttp(options: ServerOptions, port: number): Promise<string> {
  // A subscription to lists that never change would keep a stopping process alive.
  const handler = createMcpHandler(() => createServer(options), { maxSubscriptions: 0 });
  const server = createHttpServer((request, response) => void answerHttp(handler, request, response));
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
  } catch (fault) {
    const { code = '' } = fault as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      EADDRINUSE: 'another program listens on it',
      EACCES: 'this user has no permission to listen on it',
    };
    if (!(code in reasons)) throw fault;
    throw refuseCommand(
      `--http is ${port}, and ${reasons[code]} at ${HOST} (${code}). Set --http to another port; 0 chooses a free one.`,
    );
  }
  const stop = () => {
    server.close();
    server.closeIdleConnections();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  return `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`;
}

async function answerHttp({ fetch }: McpHttpHandler, request: IncomingMessage, response: ServerResponse) {
  const refusal = findRefusal(request);
  if (refusal) {
    const [status, message] = refusal;
    const error = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
    response.writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      ...(status === 405 && { allow: 'POST' }),
    });
    response.end(JSON.stringify(error));
    return;
  }
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const { url, method, headers } = request;
  const sent = {
    method: method!,
    headers: new Headers(Object.entries(headers) as [string, string][]),
    body: Readable.toWeb(request),
    duplex: 'half' as const,
    signal: gone.signal,
  };
  try {
    const answer = await fetch(new Request(`http://${headers.host}${url}`, sent));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) await pipeline(answer.body, response);
    else response.end();
  } catch {
    // The client has disconnected.
    response.destroy();
  }
}

/**
 * Returns why a request is refused. A page in a browser can also reach this machine: from another site, or through a
 * host name that points here.
 */
function findRefusal({ url, method, headers, socket }: IncomingMessage): [status: number, message: string] | undefined {
  const own = ['127.0.0.1', 'localhost'].map((host) => `${host}:${socket.localPort}`);
  if (headers.host === undefined || !own.includes(headers.host.toLowerCase()))
    return [403, 'The Host header must name this machine.'];
  const { origin } = headers;
  if (origin !== undefined && !own.includes(origin.replace(/^http:\/\//, '')))
    return [403, 'Web pages of other origins cannot call this server.'];
  if (url?.split('?', 1)[0] !== PATH) return [404, `The only path of this server is ${PATH}.`];
  return method === 'POST' ? undefined : [405, 'Send POST. This server has no sessions.'];
}

export interface McpOptions extends Pick<ServerOptions, 'canWrite' | 'bytesMax' | 'contract' | 'version'> {
  /** Without a port, the server uses standard input and output. */
  readonly port: number | undefined;
}

/** Starts the server. Throws COMMAND_REFUSED if the environment lacks the keys, or the server cannot listen. */
export async function runMcp(environment: Environment, { port, ...options }: McpOptions): Promise<void> {
  const { contract } = options;
  const caller = openCaller(environment, findBasePath(contract));
  const serverOptions = { ...options, caller, tools: listTools(contract) };
  // On a port, standard output contains only the address.
  if (port !== undefined) process.stdout.write(`${await listenHttp(serverOptions, port)}\n`);
  else serveStdio(() => createServer(serverOptions));
}
