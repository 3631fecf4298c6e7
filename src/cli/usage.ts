/**
 * `storeroom usage`: the metered calls of a tenant in one calendar month (UTC), in total, by day and by operation. Never counts, only adds up.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { addCommand, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { findTenant, withStore } from './data.ts';
import { buildTable } from './table.ts';

export function addUsageCommand(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'usage <team>', {
    summary: 'Show the calls of a month (UTC).',
    example: 'usage acme --month 2026-11',
  })
    .option('--month <month>', 'YYYY-MM (default: this month)', parseMonth)
    .action(async (teamId: string, options: AnswerOptions & { month?: string }) => {
      const month = options.month ?? new Date().toISOString().slice(0, 7);
      const { total, byDay } = await withStore(environment, async (store) => {
        await findTenant(store, teamId);
        return store.usage.loadUsage(teamId, month);
      });
      const days = sumCalls(byDay.map(({ day, calls }) => [day, calls]));
      const operations = sumCalls(byDay.map(({ operation, calls }) => [operation, calls]));
      const text = [
        `${teamId} made ${total} calls in ${month} (UTC).`,
        ...[days, operations].filter(({ size }) => size > 0).map(writeSums),
      ].join('\n\n');
      const object = {
        teamID: teamId,
        month,
        total,
        byDay: [...days].map(([day, calls]) => ({ day, calls })),
        byOperation: [...operations].map(([operation, calls]) => ({ operation, calls })),
      };
      answer(options, object, text);
    });
}

function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('It is a month such as 2026-11.');
  return text;
}

function sumCalls(counts: readonly (readonly [string, number])[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [name, calls] of counts) sums.set(name, (sums.get(name) ?? 0) + calls);
  return sums;
}

const writeSums = (sums: ReadonlyMap<string, number>): string =>
  buildTable([...sums].map(([name, calls]) => [name, String(calls)]));
