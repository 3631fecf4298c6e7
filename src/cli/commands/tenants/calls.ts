/**
 * `storeroom usage` and `requests`: prints the metered calls of a tenant in one month (UTC), by day, operation and pair
 * of keys; and its request log, newest first, or one complete request.
 */
import { Refusal } from '../../../errors.ts';
import type { FoundPage, FoundRequest, RequestsQuery } from '../../../request-log/logged-request.ts';
import { findRequest, searchRequests } from '../../../request-log/search.ts';
import { buildTable, parseForm, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';

export const addUsageCommand: AddCommands = (program, context) => {
  const description = 'Show how many calls a tenant made in a month (UTC).';
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
  ).option(
    '--month <month>',
    'YYYY-MM (default: this month)',
    parseForm(/^\d{4}-(0[1-9]|1[0-2])$/, 'look like 2026-11'),
  );
};

function sumCalls(counts: readonly (readonly [string, number])[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const [name, calls] of counts) sums.set(name, (sums.get(name) ?? 0) + calls);
  return [...sums];
}

const EXAMPLE = 'requests acme --status 5xx --from 2026-11-20T22:00:00Z';

export const addRequestsCommand: AddCommands = (program, context) => {
  const description = 'Show the logged requests, newest first, 50 at a time.';
  addTenantCommand(
    program,
    context,
    'requests <team>',
    EXAMPLE,
    description,
    async ({ store: { requests }, teamId, tenant }, { id, ...wanted }: RequestsQuery & { id?: string }) => {
      if (id === undefined) {
        const page = await searchRequests(requests, teamId, wanted, tenant.createdAt);
        return [page, formatPage(page)];
      }
      const request = await findRequest(requests, teamId, id);
      if (!request) throw new Refusal('NOT_FOUND', `The request log has no request '${id}'.`);
      const rows = Object.entries(request).map(([name, value]) => [name, tell(value)]);
      return [{ request }, buildTable(rows)];
    },
  )
    .option('--status <status>', 'a status such as 404, or a class such as 5xx')
    .option('--operation <name>', 'an operation such as createOrder')
    .option('--from <time>', 'UTC, such as 2026-11-20T09:30:00Z')
    .option('--to <time>', 'UTC; requests before this time')
    .option('--cursor <cursor>', 'cursor that the previous output shows, for the next 50')
    .option('--id <request-id>', 'one request with its parameters and its body');
};

const HEAD = ['AT', 'STATUS', 'CODE', 'OPERATION', 'MS', 'CALLER', 'CLIENT', 'REQUEST ID'];

function formatPage({ requests, next, searchedTo }: FoundPage): string {
  const rows = requests.map((request) => [
    request.at,
    request.httpStatus,
    request.code ?? '',
    request.operation,
    request.milliseconds,
    callerOf(request),
    request.client,
    request.requestID,
  ]);
  const more = next === null ? '' : `\n\nThe search went back to ${searchedTo}. To continue it, add --cursor ${next}`;
  return buildTable([HEAD, ...rows]) + more;
}

const callerOf = ({ keyName, apiID, explorerUser }: FoundRequest) => keyName ?? apiID ?? explorerUser ?? '';

const tell = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
