/**
 * The commands about the service: `serve`, `mcp`, `health`, `config`, and `service`, which installs, removes and prints
 * the systemd unit and runs commands with its settings. `serve` and `mcp` load their code late, so that other commands
 * do not wait for it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { HELP as MCP_HELP, HTTP, MAX_BYTES, WRITE } from '../../../mcp/src/options.ts';
import { isExecutable } from '../../assets.ts';
import { hidePassword, parseConfig, SETTINGS, type Config, type Environment } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { addCommand, addGroup, buildTable, parseNumber, printable, printAnswer, type AddCommands } from '../command.ts';
import {
  askSystemdToRun,
  renderSettings,
  renderUnit,
  SETTINGS_FILE,
  UNIT_FILE,
  USER,
  USER_FILE,
} from '../serve/systemd-unit.ts';
import { findFault, formatOrigin } from '../service-address.ts';

export const addServeCommand: AddCommands = (program, context) => {
  const { environment } = context;
  const portHelp = `port to listen on, 0 for a free one (default: STOREROOM_PORT or ${SETTINGS.port.default})`;
  addCommand(program, 'serve', 'serve --port 8080', 'Run the service.')
    .option('--port <number>', portHelp, parsePort)
    .option('--host <address>', `address to listen on (default: STOREROOM_HOST or ${SETTINGS.host.default})`)
    .option('--create', 'create a new store if there is none, even if STOREROOM_CREATE is off')
    .action(async ({ port, host, create }: { port?: string; host?: string; create?: true }) => {
      const given = { STOREROOM_PORT: port, STOREROOM_HOST: host, STOREROOM_CREATE: create && 'always' };
      const { config, unknown } = parseConfig(environment, given);
      for (const variable of unknown)
        process.stderr.write(`${printable(variable)} is not a setting. \`storeroom config\` shows all settings.\n`);
      const { runService } = await import('../serve/run-service.ts');
      await runService(config, context, areTracesOn(environment));
    });
};

function parsePort(text: string): string {
  if (SETTINGS.port.parse(text) === undefined) throw new InvalidArgumentError(`It must be ${SETTINGS.port.form}.`);
  return text;
}

/** Returns whether traces are exported. Throws COMMAND_REFUSED for an unsupported value. */
export function areTracesOn(environment: Environment): boolean {
  const valueOf = (name: string) => environment[name]?.trim().toLowerCase() || undefined;
  if (valueOf('OTEL_SDK_DISABLED') === 'true') return false;
  const exporter = valueOf('OTEL_TRACES_EXPORTER');
  const endpoint = valueOf('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? valueOf('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (exporter === 'none' || (exporter === undefined && endpoint === undefined)) return false;
  if (exporter !== undefined && exporter !== 'otlp')
    throw refuseCommand(`OTEL_TRACES_EXPORTER must be otlp or none, not '${exporter}'.`);
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = valueOf(name);
    if (protocol !== undefined && protocol !== 'http/protobuf')
      throw refuseCommand(`${name} must be http/protobuf, not '${protocol}'.`);
  }
  return true;
}

export const addMcpCommand: AddCommands = (program, { environment }) => {
  const parseBounded = ({ least, most }: { least: number; most: number }) =>
    parseNumber({ type: 'integer', minimum: least, maximum: most });
  addGroup(program, 'mcp', 'mcp --write', MCP_HELP)
    .option(WRITE.form, WRITE.help)
    .option(HTTP.form, HTTP.help, parseBounded(HTTP))
    .option(MAX_BYTES.form, MAX_BYTES.help, parseBounded(MAX_BYTES), MAX_BYTES.fallback)
    .action(async ({ write, http, maxBytes }: { write?: true; http?: number; maxBytes: number }) => {
      const { startMcp } = await import('../start-mcp.ts');
      await startMcp(environment, { canWrite: write === true, bytesMax: maxBytes, port: http });
    });
};

const HEALTH_HELP = 'Check whether the service on this machine is up. Exits with 0 or 1.';

export const addHealthCommand: AddCommands = (program, context) => {
  addCommand(program, 'health', 'health --ready', HEALTH_HELP)
    .option('--ready', 'check /readyz (whether it accepts calls) instead of /healthz')
    .action(async ({ ready }: { ready?: true }) => {
      const { config } = parseConfig(context.environment);
      const url = `${formatOrigin(config.host, config.port)}/${ready ? 'readyz' : 'healthz'}`;
      const fault = await findFault(url);
      if (fault !== undefined) context.exitCode = 1;
      printAnswer(context, { url, ok: fault === undefined, answer: fault }, `${url}: ${fault ?? 'ok'}`);
    });
};

export const addConfigCommand: AddCommands = (program, context) => {
  addCommand(program, 'config', 'config', 'Show every setting, its value and where it came from.').action(() => {
    const { config, sources, unknown } = parseConfig(context.environment);
    const settings = (Object.keys(SETTINGS) as (keyof Config)[]).map((name) => {
      const { variable, default: fallback, meaning } = SETTINGS[name];
      const value = name === 'databaseUrl' ? hidePassword(config[name]) : config[name];
      return { name, value, source: sources[name], variable, default: fallback, meaning };
    });
    const rows = settings.map(({ variable, value, source, meaning }) => [variable, String(value), source, meaning]);
    const notes = unknown.map((variable) => `\n${printable(variable)} is set, but there is no such setting.`);
    const table = buildTable([['VARIABLE', 'VALUE', 'FROM', 'MEANING'], ...rows]);
    printAnswer(context, { settings, unknown }, table + notes.join(''));
  });
};

/** The paths that the unit hides from the service, or that are empty after a restart. */
const UNREACHABLE = /^\/(home|root|run|tmp|var\/tmp|dev|proc)\//;
const NEXT_STEPS = `Next:
  1. Change settings, such as the database address: edit /${SETTINGS_FILE}
  2. Create the store, with a tenant and its keys:
       PROGRAM service run -- tenant create acme --name 'Acme Ltd.' --create
       PROGRAM service run -- keys create acme --name shop
  3. Start it now and at every boot:                systemctl enable --now storeroom
  4. Check that it runs:                            systemctl status storeroom; journalctl -u storeroom`;

export const addServiceCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'service', 'service install', 'Run the service under systemd (Linux).');
  const rootOption = [
    '--root <folder>',
    'folder below which the files are; with any folder but /, systemd is not called',
    '/',
  ] as const;
  const installing = 'Create the unit, its user and its settings file. Run it as root. Existing settings are kept.';
  addCommand(group, 'install', 'service install', installing)
    .option(...rootOption)
    .action(({ root }: { root: string }) => {
      const words = findProgram();
      if (isMachine(root)) checkReach(words);
      checkMachine(root);
      const written = [writeUnder(root, UNIT_FILE, renderUnit(words), 0o644), writeUnder(root, USER_FILE, USER, 0o644)];
      if (!existsSync(join(root, SETTINGS_FILE)))
        written.push(writeUnder(root, SETTINGS_FILE, renderSettings(), 0o600));
      if (isMachine(root)) {
        runOrRefuse('systemd-sysusers', join(root, USER_FILE));
        runOrRefuse('systemctl', 'daemon-reload');
      }
      const list = written.map((file) => `Wrote ${file}`).join('\n');
      printAnswer(context, { written }, `${list}\n\n${NEXT_STEPS.replaceAll('PROGRAM', words.join(' '))}`);
    });
  const running = "Run a command as the service's user and with its settings. Run it as root.";
  addGroup(group, 'run <command...>', 'service run -- tenant list', running).action((words: readonly string[]) => {
    checkMachine('/');
    const [systemdRun, ...asked] = askSystemdToRun([...findProgram(), ...words]);
    const { status, error } = spawnSync(systemdRun!, asked, { stdio: 'inherit' });
    if (error) throw refuseCommand(`${systemdRun} failed: ${error.message}`);
    context.exitCode = status ?? 1;
  });
  const removing = 'Stop the service and remove its unit. Data, settings and the user are kept.';
  addCommand(group, 'uninstall', 'service uninstall', removing)
    .option(...rootOption)
    .action(({ root }: { root: string }) => {
      checkMachine(root);
      const removed = [UNIT_FILE, USER_FILE].map((file) => join(root, file)).filter((file) => existsSync(file));
      if (isMachine(root) && existsSync(join(root, UNIT_FILE)))
        runOrRefuse('systemctl', 'disable', '--now', 'storeroom');
      for (const file of removed) rmSync(file);
      if (isMachine(root)) runOrRefuse('systemctl', 'daemon-reload');
      const list = removed.map((file) => `Removed ${file}`).join('\n') || 'No unit is installed.';
      printAnswer(context, { removed }, `${list}\nData, settings and the user storeroom are unchanged.`);
    });
  addCommand(group, 'print', 'service print', 'Print the unit that install would write.').action(() => {
    const unit = renderUnit(findProgram());
    printAnswer(context, { unit }, unit.trimEnd());
  });
};

/** Returns the words that start this program: the executable, or Node and a file. */
const findProgram = () =>
  isExecutable ? [process.execPath] : [process.execPath, realpathSync(resolve(process.argv[1]!))];

const isMachine = (root: string) => resolve(root) === '/';

function checkMachine(root: string) {
  if (!isMachine(root)) return;
  if (!existsSync('/run/systemd/system'))
    throw refuseCommand('This machine does not use systemd. `storeroom service print` shows the unit.');
  if (process.getuid?.() !== 0) throw refuseCommand('Only root can do this. Run the command with sudo.');
}

function checkReach(words: readonly string[]) {
  const [hidden] = words.filter((word) => UNREACHABLE.test(word));
  if (hidden === undefined) return;
  const remedy = 'Install Storeroom for all users (npm i -g with a system-wide Node, or the executable in';
  throw refuseCommand(`The service cannot read ${hidden}. ${remedy} /usr/local/bin). Run this again from there.`);
}

/** Writes a file with the given mode, even if it exists with another mode. */
function writeUnder(root: string, name: string, text: string, mode: number): string {
  const file = join(root, name);
  const umask = process.umask(0o022);
  mkdirSync(dirname(file), { recursive: true });
  process.umask(umask);
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
  return file;
}

function runOrRefuse(program: string, ...words: readonly string[]) {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return;
  throw refuseCommand(`${[program, ...words].join(' ')} failed: ${error?.message ?? stderr.trim()}`);
}
