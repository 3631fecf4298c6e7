/** `storeroom health`: asks the running service whether it is well, for health checks of containers. */
import type { Command } from 'commander';
import { parseConfig } from '../../../config.ts';
import { addCommand, printAnswer, type CommandContext, type CommandOptions } from '../../command.ts';
import { findFault, formatOrigin } from '../../service-address.ts';

interface HealthOptions extends CommandOptions {
  readonly ready?: true;
}

export function addHealthCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'health', 'health --ready')
    .description('Ask the service of this machine whether it is well. Exits with 0 if it is, with 1 if not.')
    .option('--ready', 'ask /readyz, whether it takes calls, instead of /healthz')
    .action(async ({ ready, ...options }: HealthOptions) => {
      const { config } = parseConfig(context.environment, {});
      const url = `${formatOrigin(config.host, config.port)}/${ready ? 'readyz' : 'healthz'}`;
      const fault = await findFault(url);
      if (fault !== undefined) context.exitCode = 1;
      printAnswer(options, { url, ok: fault === undefined, answer: fault }, `${url}: ${fault ?? 'ok'}`);
    });
}
