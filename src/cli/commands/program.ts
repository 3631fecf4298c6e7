/**
 * Begin here. Defines the commands and runs one, with settings from variables, options and files of secrets. The exit
 * code is 0 for success, 1 for a refusal or failure, 2 for wrong use (or a check that could not run), and 78 for a
 * wrong setting, after which systemd does not restart the service.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { VERSION } from '../../assets.ts';
import type { Clock } from '../../clock.ts';
import { SETTINGS, type Environment } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { printErrorObject, printFault, type AddCommands, type CommandContext } from '../command.ts';
import { addActions } from './actions.ts';
import { addExportCommand, addImportCommand } from './import-export.ts';
import { addConfigCommand, addHealthCommand, addMcpCommand, addServeCommand, addServiceCommands } from './service.ts';
import { addBackupCommands, addCheckCommand, addMoveCommand, addUpgradeCommand } from './store.ts';
import { refuseOtherOwner } from '../open-store.ts';
import { ERROR_PRIORITY, isJournal, SETTING_EXIT_CODE } from '../serve/systemd-unit.ts';

/** The commands in the order of the help. */
const COMMANDS: readonly AddCommands[] = [
  addServeCommand,
  addHealthCommand,
  addServiceCommands,
  addActions('tenant', 'Create, list, change and remove tenants.'),
  addActions('keys', "Create, list, replace and end a tenant's keys, which are pairs of API ID and secret."),
  addActions('webhook', "Add, list, test, pause, replay and remove a tenant's webhooks, which receive every change."),
  addActions('user', 'Create, list, change and remove users of the dashboard.'),
  addActions('fields', 'Show and extend the fields of records.'),
  addActions('order', 'Approve, invoice, void, return and show orders.'),
  addActions('stock', 'Receive, count and adjust stock.'),
  addImportCommand,
  addExportCommand,
  addActions('usage'),
  addActions('requests'),
  addActions('audit', 'Print and verify the audit log.'),
  addBackupCommands,
  addUpgradeCommand,
  addCheckCommand,
  addMoveCommand,
  addActions('database', 'Show the servers of a database with Citus.'),
  addConfigCommand,
  addMcpCommand,
];

const INTRODUCTION = `Examples:
  $ storeroom serve                                         the service, on port 8080
  $ storeroom tenant create acme --name 'Acme Ltd.'         a new tenant
  $ storeroom keys create acme --name shop                  its first API ID and secret
  $ storeroom user create acme ann@example.com --role owner  a user of the dashboard
  $ storeroom import acme orders orders.csv                 its records
  $ storeroom move --to postgres://…                        everything into PostgreSQL, or back with sqlite:FOLDER

Settings are environment variables; \`storeroom config\` shows them. STOREROOM_DATA is the folder of all data.`;

/** Runs a command line and resolves to its exit code. `serve` resolves once the service is listening. */
export async function runCommandLine(argv: readonly string[], environment: Environment, clock: Clock): Promise<number> {
  const asJson = argv.includes('--json');
  // The reader of the output may stop early, which is not a fault.
  process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EPIPE') printFault(fault, asJson);
  });
  try {
    const context: CommandContext = { environment: readSecretFiles(environment), clock, asJson, exitCode: 0 };
    await buildProgram(context).parseAsync(argv);
    return context.exitCode;
  } catch (fault) {
    if (fault instanceof CommanderError) return endUsage(fault, asJson);
    printFault(fault, asJson, isJournal(environment) ? ERROR_PRIORITY : '');
    return fault instanceof Refusal && fault.code === 'WRONG_SETTING' ? SETTING_EXIT_CODE : 1;
  }
}

export function buildProgram(context: CommandContext): Command {
  const program = new Command('storeroom');
  program
    .description(
      "A self-hosted HTTP API for a retailer's orders, customers and stock, and the commands that administer it.",
    )
    .version(VERSION, '--version', 'print the version')
    .addHelpText('after', `\n${INTRODUCTION}`)
    .showHelpAfterError('(add --help to see the arguments and options of this command)')
    .exitOverride()
    .configureOutput({ writeErr: (text) => void (context.asJson || process.stderr.write(text)) });
  program.hook('preAction', (_program, command) => {
    // The word --json in argv may be the value of another option.
    context.asJson = command.opts()['json'] === true;
    if (command.parent?.name() !== 'service') refuseOtherOwner(context.environment);
  });
  for (const add of COMMANDS) add(program, context);
  return program;
}

/** Returns 2 for wrong use, 0 after --help or --version. Commander has printed its message, except with --json. */
function endUsage({ code, exitCode, message }: CommanderError, asJson: boolean): number {
  if (exitCode === 0) return 0;
  const sentence = code === 'commander.help' ? 'A command is missing.' : message.replace(/^error: /, '');
  if (asJson) printErrorObject({ code: 'WRONG_USE', message: sentence });
  return 2;
}

/**
 * Returns the environment with the database address from the file in STOREROOM_DATABASE_URL_FILE, which each use reads.
 * That use throws WRONG_SETTING if the file cannot be read or both variables are set.
 */
function readSecretFiles(environment: Environment): Environment {
  const { variable } = SETTINGS.databaseUrl;
  const name = `${variable}_FILE`;
  const { [name]: file, ...others } = environment;
  if (!file) return others;
  return {
    ...others,
    get [variable]() {
      if (others[variable]) throw new Refusal('WRONG_SETTING', `Set either ${variable} or ${name}, not both.`);
      try {
        return readFileSync(file, 'utf8').trim();
      } catch (fault) {
        const { code } = fault as NodeJS.ErrnoException;
        throw new Refusal('WRONG_SETTING', `${name} is '${file}', which cannot be read (${code}).`);
      }
    },
  };
}
