/** `storeroom service`: installs, removes and prints the systemd unit of this program. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isExecutable } from '../../../assets.ts';
import { refuseCommand } from '../../../errors.ts';
import { addCommand, addGroup, printAnswer, type AddCommands } from '../../command.ts';
import {
  askSystemdToRun,
  renderSettings,
  renderUnit,
  renderUser,
  SETTINGS_FILE,
  UNIT_FILE,
  USER_FILE,
} from '../../serve/systemd-unit.ts';

/** The paths that the unit hides from the service, or that are empty after a restart. */
const UNREACHABLE = /^\/(home|root|run|tmp|var\/tmp|dev|proc)\//;
const NEXT_STEPS = `Next:
  1. Change settings, such as the database address: edit /${SETTINGS_FILE}
  2. Start it now and at every boot:                systemctl enable --now storeroom
  3. Check that it runs:                            systemctl status storeroom; journalctl -u storeroom
  4. Create a tenant and its keys in the same store:
       PROGRAM service run -- tenant create acme --name 'Acme Ltd.'
       PROGRAM service run -- keys create acme --name shop`;

export const addServiceCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'service', 'service install', 'Run the service under systemd (Linux).');
  const rootOption = ['--root <folder>', 'write the files below this folder, and do not call systemd', '/'] as const;
  const installing = 'Create the unit, its user and its settings file. Run it as root. Existing settings are kept.';
  addCommand(group, 'install', 'service install', installing)
    .option(...rootOption)
    .action(({ root }: { root: string }) => {
      const words = findProgram();
      if (isMachine(root)) checkReach(words);
      checkMachine(root);
      const written = [
        writeUnder(root, UNIT_FILE, renderUnit(words), 0o644),
        writeUnder(root, USER_FILE, renderUser(), 0o644),
      ];
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
      const list = removed.map((file) => `Removed ${file}`).join('\n') || 'There is no unit.';
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
  const remedy = 'Install it for the whole machine (npm i -g with a Node of the system, or the executable in';
  throw refuseCommand(`The service may not read ${hidden}. ${remedy} /usr/local/bin), and run this again from there.`);
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
