/** `storeroom health`: asks the running service whether it is up, for health checks of containers. */
import { parseConfig } from '../../../config.ts';
import { addCommand, printAnswer, type AddCommands } from '../../command.ts';
import { findFault, formatOrigin } from '../../service-address.ts';

const DESCRIPTION = 'Check whether the service on this machine is up. Exits with 0 if it is, otherwise with 1.';

export const addHealthCommand: AddCommands = (program, context) => {
  addCommand(program, 'health', 'health --ready', DESCRIPTION)
    .option('--ready', 'check /readyz (whether it accepts calls) instead of /healthz')
    .action(async ({ ready }: { ready?: true }) => {
      const { config } = parseConfig(context.environment);
      const url = `${formatOrigin(config.host, config.port)}/${ready ? 'readyz' : 'healthz'}`;
      const fault = await findFault(url);
      if (fault !== undefined) context.exitCode = 1;
      printAnswer(context, { url, ok: fault === undefined, answer: fault }, `${url}: ${fault ?? 'ok'}`);
    });
};
