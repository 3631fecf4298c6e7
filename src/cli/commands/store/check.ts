/**
 * `storeroom check`: reads a complete store or backup and reports faults. It exits with 0 if there are none, 1 with
 * findings, and 2 if it could not check.
 */
import { resolve } from 'node:path';
import { checkPlace } from '../../../store/open.ts';
import { checkBackup } from '../../../store/sqlite/backup/backup.ts';
import { addCommand, printAnswer, type AddCommands, type CommandContext } from '../../command.ts';
import { parseStoreConfig, printStore } from '../../open-store.ts';
import { printable, printFault } from '../../terminal.ts';

const NOT_CHECKED = 2;
const DESCRIPTION =
  'Read everything and check that it agrees: files, counts, totals, stock, numbers, audit logs. Changes nothing; ' +
  'the service can keep running. Exits with 0 if all is well, 1 if there are findings, 2 if it cannot check.';

export const addCheckCommand: AddCommands = (program, context) => {
  addCommand(program, 'check', 'check --backup /backups/2026-11-20', DESCRIPTION)
    .option('--backup <folder>', 'check this backup instead of the store')
    .action(async ({ backup }: { backup?: string }) => {
      const startedAt = performance.now();
      let result: Awaited<ReturnType<typeof check>>;
      try {
        result = await check(context, backup);
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
      const verdict = count === 0 ? 'all is well' : `${count} findings`;
      told.push(
        ...notes,
        `Checked ${orders} orders with ${lines} lines (tenants: ${tenants}) in ${seconds} s: ${verdict}.`,
      );
      printAnswer(context, { isWhole: count === 0, ...result, seconds }, told.join('\n'));
    });
};

async function check(context: CommandContext, backup: string | undefined) {
  if (backup !== undefined) return checkBackup(resolve(backup));
  const config = parseStoreConfig(context);
  if (!context.asJson) printStore(config);
  return checkPlace(config, context.clock);
}
