/** `storeroom backup` and `restore`: the embedded store into a folder, and back into an empty data folder. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../../config.ts';
import { refuseCommand } from '../../../errors.ts';
import { openEmbedded } from '../../../store/open.ts';
import { restoreBackup } from '../../../store/sqlite/backup/backup.ts';
import { ScheduledBackups } from '../../../store/sqlite/backup/scheduled-backups.ts';
import { addCommand, printAnswer, type CommandContext, type CommandOptions } from '../../command.ts';
import { checkFolder, parseEmbeddedConfig, withOpenedStore } from '../../open-store.ts';

interface BackupOptions extends CommandOptions {
  readonly scheduledNow?: true;
}

export function addBackupCommands(program: Command, context: CommandContext): void {
  const { environment } = context;
  addCommand(program, 'backup [folder]', 'backup /backups/2026-11-20')
    .description('Copy all data into an empty folder. The service may keep running.')
    .option('--scheduled-now', 'make and verify one in STOREROOM_BACKUP_DIR, which counts as a scheduled one')
    .action(async (folder: string | undefined, { scheduledNow, ...options }: BackupOptions) => {
      const config = parseEmbeddedConfig(environment);
      checkFolder(config.data);
      if ((folder === undefined) !== (scheduledNow === true))
        throw refuseCommand('Give a folder, or --scheduled-now for STOREROOM_BACKUP_DIR.');
      if (folder === undefined) return makeScheduled(config, context, options);
      const files = await withOpenedStore({ ...context, config }, openEmbedded, (store) => store.backup(folder));
      printAnswer(options, { folder: resolve(folder), files }, `Copied ${files.length} files to ${folder}.`);
    });
  addCommand(program, 'restore <folder>', 'restore /backups/2026-11-20')
    .description('Copy a backup into the data folder, which must be empty. Stop the service first.')
    .action((folder: string, options: CommandOptions) => {
      const { data } = parseEmbeddedConfig(environment);
      const files = restoreBackup(folder, data);
      printAnswer(options, { folder: resolve(data), files }, `Copied ${files.length} files to ${data}.`);
    });
}

async function makeScheduled(config: Config, context: CommandContext, options: CommandOptions): Promise<void> {
  if (config.backupDir === '') throw refuseCommand('STOREROOM_BACKUP_DIR is not set.');
  const identity = await withOpenedStore({ ...context, config }, openEmbedded, (store) =>
    store.installation.load('identity'),
  );
  const said: string[] = [];
  const report = (event: string): void => void said.push(event);
  const backups = new ScheduledBackups({
    ...config,
    folder: config.data,
    identity: identity!,
    report,
    clock: context.clock,
  });
  if (!(await backups.makeNow())) throw refuseCommand(said.join(' '));
  printAnswer(options, { folder: resolve(config.backupDir), said }, said.join('\n'));
}
