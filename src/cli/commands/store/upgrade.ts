/** `storeroom upgrade`: upgrades all files of the embedded store to the schemas of this version, or lists them. */
import { listUpgrades } from '../../../store/sqlite/files/tenant-files.ts';
import { addCommand, printAnswer, type AddCommands } from '../../command.ts';
import { checkFolder, parseEmbeddedConfig, printStore, withEmbeddedStore } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

const DESCRIPTION =
  'Upgrade all files to the schemas of this version, as the service does after a start. Exits with 1 if a file is ' +
  'lost or damaged.';

export const addUpgradeCommand: AddCommands = (program, context) => {
  addCommand(program, 'upgrade', 'upgrade --dry-run', DESCRIPTION)
    .option('--dry-run', 'list the files and change nothing')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const config = parseEmbeddedConfig(context.environment, 'The first node with a new version upgrades PostgreSQL.');
      checkFolder(config.data);
      const files = listUpgrades(config.data);
      if (!dryRun)
        await withEmbeddedStore(context, async (store) => {
          await store.upgradeTenants();
          if (store.measure().apartTenants) context.exitCode = 1;
        });
      else if (!context.asJson) printStore(config);
      const rows = files.map(({ file, from, to, bytes }) => [file, from, to, bytes]);
      const table = buildTable([['FILE', 'SCHEMA', 'NEW SCHEMA', 'BYTES'], ...rows]);
      const none = 'All files have the schemas of this version.';
      printAnswer(context, { dryRun, files }, files.length === 0 ? none : table);
    });
};
