/** Begin here. Runs the server on standard input and output, or on a port, until the client disconnects. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { parseConfig, type Environment } from '../../config.ts';
import { openCaller } from './caller.ts';
import { listenHttp } from './listen-http.ts';
import { createServer, type ServerOptions } from './server.ts';
import { contractOf, listTools } from './tools.ts';

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
