/**
 * `storeroom backup` and `storeroom restore`: copies everything out while the service runs, and into an empty data folder while it does not.
 * The copying and the checking are the store's.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import { restoreBackup } from '../store/sqlite/backup.ts';
import { addCommand, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { withStore } from './data.ts';

export function addBackupCommands(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'backup <folder>', {
    summary: 'Copy everything into an empty folder. The service may run meanwhile.',
    example: 'backup /backups/2026-11-20',
  }).action(async (folder: string, options: AnswerOptions) => {
    const files = await withStore(environment, (store) => store.backup(folder));
    answer(options, { folder: resolve(folder), files }, `Copied ${files.length} files to ${folder}.`);
  });
  addCommand(program, 'restore <folder>', {
    summary: 'Put a backup into the data folder, which must be empty. Stop the service before.',
    example: 'restore /backups/2026-11-20',
  }).action((folder: string, options: AnswerOptions) => {
    const { data } = readConfig(environment, {}).config;
    const files = restoreBackup(folder, data);
    answer(options, { folder: resolve(data), files }, `Put ${files.length} files into ${data}.`);
  });
}
