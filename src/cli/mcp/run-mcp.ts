/** Runs the server on standard input and output, or on a port, until the client is gone. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { parseConfig, type Environment } from '../../config.ts';
import { renderContract } from '../../http/contract/contract.ts';
import { allOperations } from '../../http/operations/operations.ts';
import { openCaller } from './caller.ts';
import { listenHttp } from './listen-http.ts';
import { createServer, type ServerOptions } from './server.ts';
import { listTools, type Contract } from './tools.ts';

const HOUR_MS = 3_600_000;
/** Cursors are made by the service. */
const NO_KEY = new Uint8Array();

export interface McpOptions {
  readonly canWrite: boolean;
  readonly bytesMost: number;
  /** undefined: standard input and output. */
  readonly port: number | undefined;
}

/** Throws COMMAND_REFUSED when the environment lacks the keys, or the port cannot be had. */
export async function runMcp(environment: Environment, { port, ...options }: McpOptions): Promise<void> {
  const { config } = parseConfig(environment, {});
  const caller = openCaller(environment);
  const contract = renderContract(
    allOperations({ ...config, cursorKey: NO_KEY }),
    config.idempotencyHours * HOUR_MS,
  ) as unknown as Contract;
  const serverOptions: ServerOptions = { ...options, caller, contract, tools: listTools(contract) };
  if (port !== undefined) {
    // Standard output is for the address alone.
    process.stdout.write(`${await listenHttp(serverOptions, port)}\n`);
    return;
  }
  const server = createServer(serverOptions);
  // With standard input closed nothing keeps the process but calls that are still under way.
  process.stdin.once('end', () => void server.close());
  await server.connect(new StdioServerTransport());
}
