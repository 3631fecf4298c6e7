/**
 * Begin here. Runs the server on standard input and output, or on Streamable HTTP for clients on this machine (each
 * request is independent, without sessions), until the client disconnects.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { parseConfig, type Environment } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { describeListenFault } from '../service-address.ts';
import { openCaller } from './caller.ts';
import { createServer, type ServerOptions } from './server.ts';
import { contractOf, listTools } from './tools.ts';

/** Everyone who reaches the server calls with its keys. */
const HOST = '127.0.0.1';
const PATH = '/mcp';

/** Listens until a signal, and returns the address. Throws COMMAND_REFUSED if it cannot listen on the port. */
async function listenHttp(options: ServerOptions, port: number): Promise<string> {
  const server = createHttpServer((request, response) => void answer(options, request, response));
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
  } catch (fault) {
    const sentence = describeListenFault({ host: HOST, port }, (fault as NodeJS.ErrnoException).code);
    throw sentence === undefined
      ? fault
      : refuseCommand(sentence.replaceAll(/STOREROOM_PORT( \(or --port\))?/g, '--http'));
  }
  const stop = () => {
    server.close();
    server.closeIdleConnections();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  return `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`;
}

async function answer(options: ServerOptions, request: IncomingMessage, response: ServerResponse) {
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
  const server = createServer(options);
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

/** A page in a browser can also reach this machine, through a host name that points here or from another site. */
function findRefusal({ url, method, headers, socket }: IncomingMessage): [status: number, message: string] | undefined {
  const own = ['127.0.0.1', 'localhost'].map((host) => `${host}:${socket.localPort}`);
  if (headers.host === undefined || !own.includes(headers.host.toLowerCase()))
    return [403, 'The Host header must name this machine.'];
  const { origin } = headers;
  if (origin !== undefined && !own.includes(origin.replace(/^http:\/\//, '')))
    return [403, 'Pages of other origins may not call this server.'];
  if (url?.split('?', 1)[0] !== PATH) return [404, `The only path of this server is ${PATH}.`];
  return method === 'POST' ? undefined : [405, 'Send POST. This server has no sessions.'];
}

interface McpOptions extends Pick<ServerOptions, 'canWrite' | 'bytesMost'> {
  /** Without a port, the server uses standard input and output. */
  readonly port: number | undefined;
}

/** Throws COMMAND_REFUSED if the environment lacks the keys, or the server cannot listen on the port. */
export async function runMcp(environment: Environment, { port, ...options }: McpOptions): Promise<void> {
  const { config } = parseConfig(environment);
  const contract = contractOf(config);
  const serverOptions = { ...options, caller: openCaller(environment), contract, tools: listTools(contract) };
  if (port !== undefined) {
    // Standard output contains only the address.
    process.stdout.write(`${await listenHttp(serverOptions, port)}\n`);
    return;
  }
  const server = createServer(serverOptions);
  // After standard input closes, only running calls keep the process alive.
  process.stdin.once('end', () => void server.close());
  await server.connect(new StdioServerTransport());
}
