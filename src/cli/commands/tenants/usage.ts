/**
 * `storeroom usage`: prints the metered calls of a tenant in one month (UTC): the total, and by day, operation and pair
 * of keys.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { addCommand, printAnswer, timeOf, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

export function addUsageCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'usage <team>', 'usage acme --month 2026-11', 'Show the calls of a month (UTC).')
    .option('--month <month>', 'YYYY-MM (default: this month)', parseMonth)
    .action(async (teamId: string, given: { month?: string }) => {
      const month = given.month ?? timeOf(context.clock).slice(0, 7);
      const found = await withTenant(context, teamId, ({ store }) => store.usage.loadUsage(teamId, month));
      const { total, byDay } = found;
      const days = sumCalls(byDay.map(({ day, calls }) => [day, calls]));
      const operations = sumCalls(byDay.map(({ operation, calls }) => [operation, calls]));
      const byKey = found.byKey.map(({ apiId, name, calls }) => ({ apiID: apiId, name, calls }));
      const keys = byKey.map(({ apiID, name, calls }) => [name, apiID, calls]);
      const tables = [days, operations, keys].filter((rows) => rows.length > 0).map(buildTable);
      const text = [`${teamId} made ${total} calls in ${month} (UTC).`, ...tables];
      const object = {
        teamID: teamId,
        month,
        total,
        byDay: days.map(([day, calls]) => ({ day, calls })),
        byOperation: operations.map(([operation, calls]) => ({ operation, calls })),
        byKey,
      };
      printAnswer(context, object, text.join('\n\n'));
    });
}

function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('It must look like 2026-11.');
  return text;
}

function sumCalls(counts: readonly (readonly [string, number])[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const [name, calls] of counts) sums.set(name, (sums.get(name) ?? 0) + calls);
  return [...sums];
}
