/** `storeroom backup` and `restore`: copies the embedded store into a folder, or a backup into an empty data folder. */
import { resolve } from 'node:path';
import { refuseCommand } from '../../../errors.ts';
import { restoreBackup } from '../../../store/sqlite/backup/backup.ts';
import { makeScheduledBackups } from '../../../store/sqlite/backup/scheduled-backups.ts';
import { addCommand, printAnswer, type AddCommands, type CommandContext } from '../../command.ts';
import { parseEmbeddedConfig, withEmbeddedStore } from '../../open-store.ts';

export const addBackupCommands: AddCommands = (program, context) => {
  const copying = 'Copy all data into an empty folder. The service may keep running.';
  addCommand(program, 'backup [folder]', 'backup /backups/2026-11-20', copying)
    .option('--scheduled-now', 'make and verify a scheduled backup in STOREROOM_BACKUP_DIR now')
    .action(async (folder: string | undefined, { scheduledNow = false }: { scheduledNow?: boolean }) => {
      if ((folder === undefined) !== scheduledNow)
        throw refuseCommand('Give a folder, or --scheduled-now for STOREROOM_BACKUP_DIR.');
      if (folder === undefined) return makeScheduled(context);
      const files = await withEmbeddedStore(context, (store) => store.backup(folder));
      printAnswer(context, { folder: resolve(folder), files }, `Copied ${files.length} files to ${folder}.`);
    });
  const restoring = 'Copy a backup into the data folder, which must be empty. Stop the service first.';
  addCommand(program, 'restore <folder>', 'restore /backups/2026-11-20', restoring).action((folder: string) => {
    const { data } = parseEmbeddedConfig(context.environment);
    const files = restoreBackup(folder, data);
    printAnswer(context, { folder: resolve(data), files }, `Copied ${files.length} files to ${data}.`);
  });
};

async function makeScheduled(context: CommandContext) {
  const config = parseEmbeddedConfig(context.environment);
  if (config.backupDir === '') throw refuseCommand('STOREROOM_BACKUP_DIR is not set.');
  const identity = await withEmbeddedStore(context, ({ installation }) => installation.load('identity'));
  const said: string[] = [];
  const report = (event: string) => void said.push(event);
  const own = { folder: config.data, identity: identity!, report, clock: context.clock };
  if (!(await makeScheduledBackups({ ...config, ...own }).makeNow())) throw refuseCommand(said.join(' '));
  printAnswer(context, { folder: resolve(config.backupDir), said }, said.join('\n'));
}
