/**
 * `storeroom serve`: settles the settings the service runs with and starts it. The service itself is serve.ts, loaded only here, so that no
 * other command waits for the HTTP framework.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { parseConfig, SETTINGS } from '../config.ts';
import { addCommand, type AnswerOptions, type CommandContext } from './command.ts';
import { printable } from './table.ts';

export function addServeCommand(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'serve', { summary: 'Run the service.', example: 'serve --port 8080' })
    .option(
      '--port <number>',
      `port to listen on, 0 for a free one (default: STOREROOM_PORT or ${SETTINGS.port.default})`,
      parsePort,
    )
    .option('--host <address>', `address to listen on (default: STOREROOM_HOST or ${SETTINGS.host.default})`)
    .action(async ({ port, host, json }: { port?: string; host?: string } & AnswerOptions) => {
      const { config, unknown } = parseConfig(environment, { STOREROOM_PORT: port, STOREROOM_HOST: host });
      for (const variable of unknown)
        process.stderr.write(
          `${printable(variable)} is not a setting of Storeroom; \`storeroom config\` shows them.\n`,
        );
      const { serve } = await import('./serve.ts');
      await serve(config, json === true);
    });
}

function parsePort(text: string): string {
  if (SETTINGS.port.read(text) === undefined) throw new InvalidArgumentError(`It is ${SETTINGS.port.form}.`);
  return text;
}
