/** `storeroom requests`: prints the request log of a tenant, newest first, or one complete request. */
import type { Command } from 'commander';
import type { FoundRequest, FoundRequests, RequestsQuery } from '../../../request-log/logged-request.ts';
import { findRequest, searchRequests } from '../../../request-log/search.ts';
import { Refusal } from '../../../errors.ts';
import { addCommand, printAnswer, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

const EXAMPLE = 'requests acme --status 5xx --from 2026-11-20T22:00:00Z';

export function addRequestsCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'requests <team>', EXAMPLE, 'Show the logged requests, newest first, 50 at a time.')
    .option('--status <status>', 'a status such as 404, or a class such as 5xx')
    .option('--operation <name>', 'an operation such as createOrder')
    .option('--from <time>', 'UTC, such as 2026-11-20T09:30:00Z')
    .option('--to <time>', 'UTC; requests before this time')
    .option('--cursor <cursor>', 'the next 50: the cursor that the previous output shows')
    .option('--id <request-id>', 'one request with its parameters and its body')
    .action((teamId: string, { id, ...wanted }: RequestsQuery & { id?: string }) =>
      withTenant(context, teamId, async ({ store: { requests }, tenant }) => {
        if (id === undefined) {
          const page = await searchRequests(requests, teamId, wanted, tenant.createdAt);
          return printAnswer(context, { teamID: teamId, ...page }, formatPage(page));
        }
        const request = await findRequest(requests, teamId, id);
        if (!request) throw new Refusal('NOT_FOUND', `The request log has no request '${id}'.`);
        const rows = Object.entries(request).map(([name, value]) => [name, tell(value)]);
        printAnswer(context, { teamID: teamId, request }, buildTable(rows));
      }),
    );
}

const HEAD = ['AT', 'STATUS', 'CODE', 'OPERATION', 'MS', 'CALLER', 'CLIENT', 'REQUEST ID'];

function formatPage({ requests, next, searchedTo }: Omit<FoundRequests, 'keptDays'>): string {
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

const callerOf = ({ keyName, apiID, explorerUser }: FoundRequest): string => keyName ?? apiID ?? explorerUser ?? '';

const tell = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
