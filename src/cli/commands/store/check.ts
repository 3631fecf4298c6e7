/**
 * `storeroom check`: reads everything and says what is wrong with it, of the store or of a backup. Ends with 0 when
 * nothing is, 1 with findings, 2 when it could not check.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseConfig } from '../../../config.ts';
import { checkPlace } from '../../../store/open.ts';
import { checkBackup } from '../../../store/sqlite/backup/backup.ts';
import { addCommand, printAnswer, type CommandContext, type CommandOptions } from '../../command.ts';
import { checkFolder, printStore } from '../../open-store.ts';
import { printFault } from '../../print-fault.ts';
import { printable } from '../../text-table.ts';

const NOT_CHECKED = 2;

export function addCheckCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'check', 'check --backup /backups/2026-11-20')
    .description(
      'Read everything and compare what has to agree: files, counts, totals, stock, numbers, audit logs. Changes ' +
        'nothing; the service may run. Ends with 0 when all is well, 1 with findings, 2 when it could not check.',
    )
    .option('--backup <folder>', 'check this backup instead of the store')
    .action(async ({ backup, ...options }: CommandOptions & { backup?: string }) => {
      const startedAt = performance.now();
      let result: Awaited<ReturnType<typeof check>>;
      try {
        result = await check(context, backup);
      } catch (fault) {
        printFault(fault, options.json === true);
        context.exitCode = NOT_CHECKED;
        return;
      }
      const { tenants, orders, lines, findings, count, notes } = result;
      if (count > 0) context.exitCode = 1;
      const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
      const looked = `Checked ${orders} orders with ${lines} lines (tenants: ${tenants}) in ${seconds} s`;
      const told = findings.map(({ place, what, remedy }) => `${printable(`${place}: ${what}.`)}\n  ${remedy}`);
      if (count > told.length) told.push(`And ${count - told.length} more.`);
      const text = [...told, ...notes, `${looked}: ${count === 0 ? 'all is well' : `${count} findings`}.`];
      printAnswer(
        options,
        { isWhole: count === 0, findings, count, notes, tenants, orders, lines, seconds },
        text.join('\n'),
      );
    });
}

async function check(
  { environment, clock, asJson }: CommandContext,
  backup: string | undefined,
): ReturnType<typeof checkPlace> {
  if (backup !== undefined) return checkBackup(resolve(backup));
  const { config } = parseConfig(environment, {});
  if (config.databaseUrl === '') checkFolder(config.data);
  if (!asJson) printStore(config);
  return checkPlace(config, clock);
}
