/**
 * Starts the package in `mcp/` with the contract of this program's settings. `storeroom mcp` loads this file late, and
 * this file the package, so that nothing else waits for the protocol.
 */
import type { McpOptions } from '../../mcp/src/server.ts';
import { VERSION } from '../assets.ts';
import { HOUR_MS } from '../clock.ts';
import { parseConfig, type Environment } from '../config.ts';
import { refuseCommand } from '../errors.ts';
import { loadContract } from '../http/contract/contract.ts';

/** Throws COMMAND_REFUSED if the package is not installed, or does not start. */
export async function startMcp(environment: Environment, options: Omit<McpOptions, 'contract' | 'version'>) {
  const { config } = parseConfig(environment);
  const { runMcp } = await import('../../mcp/src/server.ts').catch(explainAbsence);
  const contract = loadContract(config, config.idempotencyHours * HOUR_MS);
  await runMcp(environment, { ...options, contract, version: VERSION });
}

function explainAbsence(fault: NodeJS.ErrnoException): never {
  if (fault.code !== 'ERR_MODULE_NOT_FOUND') throw fault;
  throw refuseCommand('`storeroom mcp` needs packages that are not installed: run `npm ci` in the checkout.');
}
