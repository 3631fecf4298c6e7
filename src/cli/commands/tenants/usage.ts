/**
 * `storeroom usage`: prints the metered calls of a tenant in one month (UTC): the total, and by day, operation and pair
 * of keys.
 */
import { InvalidArgumentError } from 'commander';
import { timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

export const addUsageCommand: AddCommands = (program, context) => {
  const description = 'Show the calls of a month (UTC).';
  addTenantCommand(
    program,
    context,
    'usage <team>',
    'usage acme --month 2026-11',
    description,
    async ({ store, teamId }, { month = timeOf(context.clock).slice(0, 7) }: { month?: string }) => {
      const { total, byDay, byKey: counts } = await store.usage.loadUsage(teamId, month);
      const days = sumCalls(byDay.map(({ day, calls }) => [day, calls]));
      const operations = sumCalls(byDay.map(({ operation, calls }) => [operation, calls]));
      const byKey = counts.map(({ apiId, name, calls }) => ({ apiID: apiId, name, calls }));
      const keys = byKey.map(({ apiID, name, calls }) => [name, apiID, calls]);
      const tables = [days, operations, keys].filter((rows) => rows.length > 0).map(buildTable);
      const text = [`${teamId} made ${total} calls in ${month} (UTC).`, ...tables];
      const members = {
        month,
        total,
        byDay: days.map(([day, calls]) => ({ day, calls })),
        byOperation: operations.map(([operation, calls]) => ({ operation, calls })),
        byKey,
      };
      return [members, text.join('\n\n')];
    },
  ).option('--month <month>', 'YYYY-MM (default: this month)', parseMonth);
};

function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('It must look like 2026-11.');
  return text;
}

function sumCalls(counts: readonly (readonly [string, number])[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const [name, calls] of counts) sums.set(name, (sums.get(name) ?? 0) + calls);
  return [...sums];
}
