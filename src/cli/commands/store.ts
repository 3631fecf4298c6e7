/**
 * The commands about a whole store: `backup`, `restore`, `check`, `move` and `upgrade`. `check` exits with 0 if it
 * finds nothing, 1 with findings, and 2 if it could not check.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Clock } from '../../clock.ts';
import { hidePassword, parseConfig, SETTINGS, type Config } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { moveStore } from '../../store/move/move.ts';
import { checkPlace, openMoveStore, type StorePlace } from '../../store/open-store.ts';
import { backupStore, checkBackup, identityOf, readControl, restoreBackup } from '../../store/sqlite/backup/backup.ts';
import { makeScheduledBackups } from '../../store/sqlite/backup/scheduled-backups.ts';
import { listUpgrades } from '../../store/sqlite/files/tenant-files.ts';
import {
  addCommand,
  buildTable,
  createProgressBar,
  printable,
  printAnswer,
  printFault,
  timeOf,
  type AddCommands,
  type CommandContext,
} from '../command.ts';
import {
  checkFolder,
  parseEmbeddedConfig,
  parseStoreConfig,
  printStore,
  withStore,
  type EmbeddedStore,
} from '../open-store.ts';

export const addBackupCommands: AddCommands = (program, context) => {
  const copying = 'Copy all data into an empty folder. The service may keep running.';
  addCommand(program, 'backup [folder]', 'backup /backups/2026-11-20', copying)
    .option('--scheduled-now', 'make and verify a scheduled backup in STOREROOM_BACKUP_DIR now')
    .action(async (folder: string | undefined, { scheduledNow = false }: { scheduledNow?: boolean }) => {
      if ((folder === undefined) !== scheduledNow)
        throw refuseCommand('Give a folder, or --scheduled-now for STOREROOM_BACKUP_DIR.');
      if (folder === undefined) return makeScheduled(context);
      const data = findFolder(context);
      const { files, notes } = await backupStore(data, folder, timeOf(context.clock));
      const text = [`Copied ${files.length} files to ${folder}.`, ...notes.map(printable)].join('\n');
      printAnswer(context, { folder: resolve(folder), files, notes }, text);
    });
  const restoring = 'Copy a backup into the data folder, which must be empty. Stop the service first.';
  addCommand(program, 'restore <folder>', 'restore /backups/2026-11-20', restoring).action((folder: string) => {
    const { data } = parseEmbeddedConfig(context.environment);
    const files = restoreBackup(folder, data);
    printAnswer(context, { folder: resolve(data), files }, `Copied ${files.length} files to ${data}.`);
  });
};

/** Returns the data folder, which is not opened, because a backup only reads. Its disk can be read-only. */
function findFolder(context: CommandContext): string {
  parseEmbeddedConfig(context.environment);
  return findStore(context).data;
}

/** Returns the settings of the store, which must exist, and prints where it is. */
function findStore(context: CommandContext): Config {
  const config = parseStoreConfig(context);
  if (!context.asJson) printStore(config);
  return config;
}

async function makeScheduled(context: CommandContext) {
  const config = parseEmbeddedConfig(context.environment);
  if (config.backupDir === '') throw refuseCommand('STOREROOM_BACKUP_DIR is not set. Set it, or give a folder.');
  const identity = identityOf(readControl(findFolder(context)));
  const said: string[] = [];
  const own = { folder: config.data, identity, report: (event: string) => void said.push(event), clock: context.clock };
  if (!(await makeScheduledBackups({ ...config, ...own }).makeNow())) throw refuseCommand(said.join(' '));
  printAnswer(context, { folder: resolve(config.backupDir), said }, said.join('\n'));
}

const NOT_CHECKED = 2;
const CHECK_HELP =
  'Check that files, counts, totals, stock, numbers and audit logs agree. Reads everything and changes nothing; ' +
  'the service can keep running. Exits with 0 if all is well, 1 if there are findings, 2 if it cannot check.';

export const addCheckCommand: AddCommands = (program, context) => {
  addCommand(program, 'check', 'check --backup /backups/2026-11-20', CHECK_HELP)
    .option('--backup <folder>', 'check this backup instead of the store')
    .action(async ({ backup }: { backup?: string }) => {
      const startedAt = performance.now();
      let result: Awaited<ReturnType<typeof checkStoreOrBackup>>;
      try {
        result = await checkStoreOrBackup(context, backup);
      } catch (fault) {
        printFault(fault, context.asJson);
        context.exitCode = NOT_CHECKED;
        return;
      }
      const { tenants, orders, lines, findings, count, notes } = result;
      if (count > 0) context.exitCode = 1;
      const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
      const told = findings.map(({ place, what, remedy }) => `${printable(`${place}: ${what}.`)}\n  ${remedy}`);
      if (count > told.length) told.push(`And ${count - told.length} more.`);
      const verdict = count === 0 ? 'all is well' : `something is wrong (findings: ${count})`;
      told.push(
        ...notes,
        `Checked ${orders} orders with ${lines} lines (tenants: ${tenants}) in ${seconds} s: ${verdict}.`,
      );
      printAnswer(context, { isWhole: count === 0, ...result, seconds }, told.join('\n'));
    });
};

async function checkStoreOrBackup(context: CommandContext, backup: string | undefined) {
  if (backup !== undefined) return checkBackup(resolve(backup));
  return checkPlace(findStore(context), context.clock);
}

const MOVE_HELP =
  'Copy everything into an empty store and compare both. Stop the service first. If a move is interrupted, run it again; it copies everything again.';

export const addMoveCommand: AddCommands = (program, context) => {
  const command: Command = addCommand(
    program,
    'move',
    'move --to postgres://storeroom:…@db.example.com/storeroom',
    MOVE_HELP,
  ).requiredOption('--to <store>', 'postgres://… or sqlite:FOLDER');
  command.action(async ({ to }: { to: string }) => {
    const target = parsePlace(to);
    // Commander's own message would show the value, which can contain a password.
    if (!target) command.error(`error: option '--to <store>' must be ${SETTINGS.databaseUrl.form}, or sqlite:FOLDER.`);
    const { config } = parseConfig(context.environment);
    const source: StorePlace = { ...config, data: resolve(config.data) };
    const [from, into] = [formatPlace(source), formatPlace(target)];
    if (from === into)
      throw refuseCommand(`The source and the target are both ${from}. Name another target with --to.`);
    if (source.databaseUrl === '') checkFolder(source.data);
    const startedAt = performance.now();
    const { tenants, tables } = await move(source, target, context.clock);
    const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const cells = tables.map((table) => [table.team ?? '-', table.table, table.rows, table.sha256]);
    const text = [
      buildTable([['TEAM', 'TABLE', 'ROWS', 'SHA-256'], ...cells]),
      '',
      `Moved ${rows} rows (tenants: ${tenants}) in ${seconds} s. Both stores were read back, and every table is equal.`,
      `${from} is unchanged; stop writing to it. To use ${into}, ${describeSettings(target)} and start the service.`,
    ];
    printAnswer(context, { from, to: into, tenants, tables, seconds }, text.join('\n'));
  });
};

async function move(source: StorePlace, target: StorePlace, clock: Clock) {
  await using opened = new AsyncDisposableStack();
  const openPlace = async (place: StorePlace, isSource: boolean) => {
    const name = formatPlace(place);
    const store = await openMoveStore(place, name, clock, isSource);
    opened.defer(() => store.close());
    return { name, store };
  };
  const from = await openPlace(source, true);
  const to = await openPlace(target, false);
  const bar = await createProgressBar();
  opened.defer(bar.stop);
  return await moveStore(from, to, bar);
}

function parsePlace(text: string): StorePlace | undefined {
  const folder = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (folder !== undefined) return { data: resolve(folder), databaseUrl: '' };
  const databaseUrl = SETTINGS.databaseUrl.parse(text);
  return databaseUrl === undefined ? undefined : { data: '', databaseUrl };
}

const formatPlace = ({ data, databaseUrl }: StorePlace) =>
  databaseUrl === '' ? `sqlite:${data}` : hidePassword(databaseUrl);

function describeSettings({ data, databaseUrl }: StorePlace): string {
  const { data: folder, databaseUrl: url } = SETTINGS;
  if (databaseUrl === '') return `set ${folder.variable}=${data}, unset ${url.variable}`;
  return `set ${url.variable} to the address given to --to`;
}

const UPGRADED_BY_NODE =
  'This command is only for the embedded store. With PostgreSQL, the first node of a new version upgrades the schemas ' +
  'when it starts.';
const UPGRADE_HELP =
  'Upgrade all files to the schemas of this version, as the service does after a start. Exits with 1 if a file is ' +
  'lost or damaged.';

export const addUpgradeCommand: AddCommands = (program, context) => {
  addCommand(program, 'upgrade', 'upgrade --dry-run', UPGRADE_HELP)
    .option('--dry-run', 'list the files and change nothing')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const config = parseEmbeddedConfig(context.environment, UPGRADED_BY_NODE);
      checkFolder(config.data);
      const files = listUpgrades(config.data, dryRun);
      if (!dryRun)
        await withStore(context, async (store) => {
          await (store as EmbeddedStore).upgradeTenants();
          if (store.measure().apartTenants) context.exitCode = 1;
        });
      else if (!context.asJson) printStore(config);
      const rows = files.map(({ file, from, to, bytes }) => [file, from, to, bytes]);
      const table = buildTable([['FILE', 'SCHEMA', 'NEW SCHEMA', 'BYTES'], ...rows]);
      const none = 'All files have the schemas of this version.';
      printAnswer(context, { dryRun, files }, files.length === 0 ? none : table);
    });
};
