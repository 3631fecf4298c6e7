/**
 * `storeroom backup` and `storeroom restore`: copies everything out while the service runs, and into an empty data folder while it does not.
 * The copying and the checking are the store's.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseConfig, type Config, type Environment } from '../config.ts';
import { Refusal } from '../errors.ts';
import { openEmbedded } from '../store/open.ts';
import { restoreBackup } from '../store/sqlite/backup.ts';
import { addCommand, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { checkFolder, commandSettings, commandUser } from './data.ts';

export function addBackupCommands(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'backup <folder>', {
    summary: 'Copy everything into an empty folder. The service may run meanwhile.',
    example: 'backup /backups/2026-11-20',
  }).action(async (folder: string, options: AnswerOptions) => {
    const files = await backUp(embeddedSettings(environment), folder);
    answer(options, { folder: resolve(folder), files }, `Copied ${files.length} files to ${folder}.`);
  });
  addCommand(program, 'restore <folder>', {
    summary: 'Put a backup into the data folder, which must be empty. Stop the service before.',
    example: 'restore /backups/2026-11-20',
  }).action((folder: string, options: AnswerOptions) => {
    const { data } = embeddedSettings(environment);
    const files = restoreBackup(folder, data);
    answer(options, { folder: resolve(data), files }, `Put ${files.length} files into ${data}.`);
  });
}

async function backUp(settings: Config, folder: string): Promise<string[]> {
  checkFolder(settings.data);
  let fatal: unknown;
  const store = openEmbedded(commandSettings(settings), commandUser((fault) => void (fatal ??= fault))); // prettier-ignore
  try {
    return await store.backup(folder);
  } catch (fault) {
    throw fatal ?? fault;
  } finally {
    await store.close();
  }
}

/** PostgreSQL has tools of its own, and better ones. */
function embeddedSettings(environment: Environment): Config {
  const { config } = parseConfig(environment, {});
  if (config.databaseUrl === '') return config;
  throw new Refusal(
    'COMMAND_REFUSED',
    'A PostgreSQL database is backed up with its own tools (pg_basebackup, pg_dump); docs/several-nodes/backup.md shows how.',
  );
}
