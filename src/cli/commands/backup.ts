/** `storeroom backup` and `restore`: the embedded store into a folder, and back into an empty data folder. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { openEmbedded } from '../../store/open.ts';
import { restoreBackup } from '../../store/sqlite/backup.ts';
import { addCommand, printAnswer, type CommandContext, type CommandOptions } from '../command.ts';
import { checkFolder, parseEmbeddedConfig, withOpenedStore } from '../open-store.ts';

export function addBackupCommands(program: Command, { environment, clock }: CommandContext): void {
  addCommand(program, 'backup <folder>', 'backup /backups/2026-11-20')
    .description('Copy all data into an empty folder. The service may keep running.')
    .action(async (folder: string, options: CommandOptions) => {
      const config = parseEmbeddedConfig(environment);
      checkFolder(config.data);
      const files = await withOpenedStore({ config, clock }, openEmbedded, (store) => store.backup(folder));
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
