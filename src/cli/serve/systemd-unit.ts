/**
 * The systemd unit (storeroom.service), its user and its first settings (storeroom.env, all commented out), and calls of
 * systemd's programs.
 */
import { execFile } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { readAsset } from '../../assets.ts';
import type { Environment } from '../../config.ts';

export const UNIT_FILE = 'etc/systemd/system/storeroom.service';
export const USER_FILE = 'etc/sysusers.d/storeroom.conf';
export const SETTINGS_FILE = 'etc/storeroom/storeroom.env';
/** The exit code for a wrong setting, EX_CONFIG of BSD's sysexits. The unit says not to restart the service after it. */
export const SETTING_EXIT_CODE = 78;

/**
 * The unit creates the data folder, so an empty folder can mean that its store was moved away. `systemctl start` waits
 * ten minutes, because a node with PostgreSQL may wait for a migration by another node. A stop takes at most the sum of
 * the drain, the ten seconds that calls have to finish, and the saving of counts and logs. The unit does not restrict
 * the network, the JIT of Node (MemoryDenyWriteExecute would end it), or setpriority, with which the threads of long
 * queries lower their priority.
 */
const UNIT = 'src/cli/serve/storeroom.service';
/** The lines of the unit for a command as well. StateDirectory creates the data folder for a restore, after a move. */
const FOR_COMMANDS =
  /^(?:User|Group|Environment|EnvironmentFile|WorkingDirectory|StateDirectory|StateDirectoryMode|UMask)=.*/gm;

/** Renders the unit. `program` lists the words that start the program, without `serve`. */
export const renderUnit = (program: readonly string[]): string =>
  readAsset(UNIT)
    .toString()
    .replace('PROGRAM', () => program.map(quoteWord).join(' '));

export const USER = 'u storeroom - "Storeroom" /var/lib/storeroom\n';

export const renderSettings = (): string => readAsset('src/cli/serve/storeroom.env').toString();

/** Returns the words that run a command as the service's user, with its settings and data, as the unit does. */
export function askSystemdToRun(words: readonly string[]): string[] {
  const properties = renderUnit([]).match(FOR_COMMANDS)!;
  const options = ['--quiet', '--wait', '--collect', '--pipe', ...properties.map((one) => `--property=${one}`), '--'];
  return ['systemd-run', ...options, ...words.map((word) => word.replaceAll('$', '$$$$'))];
}

/** Reports to systemd that the service is ready, through a program, because Node has no Unix datagram sockets. */
export function notifySystemd({ NOTIFY_SOCKET }: Environment, onFault: (fault: Error) => void): void {
  if (NOTIFY_SOCKET !== undefined) execFile('systemd-notify', ['--ready'], (fault) => fault && onFault(fault));
}

/** Returns whether standard error is systemd's journal. */
export function isJournal({ JOURNAL_STREAM }: Environment): boolean {
  const { dev, ino } = fstatSync(2);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}

/** The prefix of an error's line, from which the journal reads its priority. */
export const ERROR_PRIORITY = '<3>';

/** Returns the journal's prefix for the level of a line of pino: `<4>` for a warning. */
export function priorityOf(line: string): string {
  const tens = Number(line.at('{"level":'.length));
  return `<${tens < 3 ? 7 : [6, 4, 3, 2][tens - 3]}>`;
}

/** Quotes a word of a command line, so that systemd finds no specifier, variable or word boundary in it. */
function quoteWord(word: string): string {
  const text = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}
