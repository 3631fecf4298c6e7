/**
 * `storeroom serve`: runs the service. It loads the service late, so that other commands do not wait for the HTTP
 * framework.
 */
import { InvalidArgumentError } from 'commander';
import { parseConfig, SETTINGS } from '../../../config.ts';
import { addCommand, type AddCommands } from '../../command.ts';
import { printable } from '../../terminal.ts';
import { areTracesOn } from '../../serve/tracing-switch.ts';

export const addServeCommand: AddCommands = (program, context) => {
  const { environment } = context;
  const portHelp = `port to listen on, 0 for a free one (default: STOREROOM_PORT or ${SETTINGS.port.default})`;
  addCommand(program, 'serve', 'serve --port 8080', 'Run the service.')
    .option('--port <number>', portHelp, parsePort)
    .option('--host <address>', `address to listen on (default: STOREROOM_HOST or ${SETTINGS.host.default})`)
    .action(async ({ port, host }: { port?: string; host?: string }) => {
      const { config, unknown } = parseConfig(environment, { STOREROOM_PORT: port, STOREROOM_HOST: host });
      for (const variable of unknown)
        process.stderr.write(`${printable(variable)} is not a setting. \`storeroom config\` shows all settings.\n`);
      const { runService } = await import('../../serve/run-service.ts');
      await runService(config, context, areTracesOn(environment));
    });
};

function parsePort(text: string): string {
  if (SETTINGS.port.parse(text) === undefined) throw new InvalidArgumentError(`It must be ${SETTINGS.port.form}.`);
  return text;
}
