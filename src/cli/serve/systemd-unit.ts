/** Renders the systemd unit, its user and its settings as texts, and calls systemd's programs. */
import { execFile } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { SETTINGS, type Environment } from '../../config.ts';

export const UNIT_FILE = 'etc/systemd/system/storeroom.service';
export const USER_FILE = 'etc/sysusers.d/storeroom.conf';
export const SETTINGS_FILE = 'etc/storeroom/storeroom.env';
const USER = 'storeroom';
const DATA = '/var/lib/storeroom';
const DRAIN_MS = 2000;
/**
 * Seconds for a stop: more than the sum of the drain, the ten seconds that calls have to finish, and the saving of
 * counts and logs.
 */
const STOP_SECONDS = 60;
/** Seconds that `systemctl start` waits. A node with PostgreSQL may wait for a migration by another node. */
const START_SECONDS = 600;
/** The exit code for a wrong setting, EX_CONFIG of BSD's sysexits. systemd does not restart the service after it. */
export const SETTING_EXIT_CODE = 78;

/** systemd creates the data folder, so an empty folder can mean that its store was moved away. */
const ENVIRONMENT = [
  `${SETTINGS.data.variable}=${DATA}`,
  `${SETTINGS.create.variable}=off`,
  `${SETTINGS.demo.variable}=off`,
  `${SETTINGS.drainMs.variable}=${DRAIN_MS}`,
].join(' ');

/**
 * Renders the unit. `program` lists the words that start the program, without `serve`. The unit does not restrict the
 * network, the JIT of Node (MemoryDenyWriteExecute would end it), or setpriority, with which the threads of long
 * queries lower their priority.
 */
export function renderUnit(program: readonly string[]): string {
  const words = program.map(quoteWord).join(' ');
  return `# Written by "storeroom service install", which replaces it. Change it with "systemctl edit storeroom".
[Unit]
Description=Storeroom, an API over an inventory system
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
User=${USER}
Group=${USER}
ExecStart=${words} serve
Environment=${ENVIRONMENT}
EnvironmentFile=-/${SETTINGS_FILE}
WorkingDirectory=${DATA}
Restart=always
RestartSec=1
RestartPreventExitStatus=${SETTING_EXIT_CODE}
TimeoutStartSec=${START_SECONDS}
TimeoutStopSec=${STOP_SECONDS}
LimitNOFILE=65536

StateDirectory=storeroom
StateDirectoryMode=0700
# To keep backups outside the data folder, create this folder with the owner storeroom.
ReadWritePaths=-/var/backups/storeroom
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
KeyringMode=private
LockPersonality=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallFilter=setpriority

[Install]
WantedBy=multi-user.target
`;
}

export const renderUser = (): string => `u ${USER} - "Storeroom" ${DATA}\n`;

/** Renders the first settings file. Every setting in it is commented out. */
export const renderSettings =
  (): string => `# Settings of Storeroom, one NAME=value per line. docs/settings.md lists all of them.
# Only root can read this file, because it can contain a password. After a change: systemctl restart storeroom
#${SETTINGS.port.variable}=${SETTINGS.port.default}
#${SETTINGS.host.variable}=${SETTINGS.host.default}
#${SETTINGS.publicUrl.variable}=https://pims.example.com
#${SETTINGS.trustedProxies.variable}=127.0.0.1
#${SETTINGS.databaseUrl.variable}=postgres://storeroom:PASSWORD@10.0.0.20:5432/storeroom
`;

/** Returns the words that run a command as the service's user, with its settings and data, as the unit does. */
export function askSystemdToRun(words: readonly string[]): string[] {
  const properties = [
    `User=${USER}`,
    `Group=${USER}`,
    `Environment=${ENVIRONMENT}`,
    `EnvironmentFile=-/${SETTINGS_FILE}`,
    `WorkingDirectory=${DATA}`,
    // Creates the data folder for a restore, after the old folder was moved away.
    'StateDirectory=storeroom',
    'StateDirectoryMode=0700',
    'UMask=0077',
  ];
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
