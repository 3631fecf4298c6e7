/** `storeroom requests`: prints the request log of a tenant, newest first, or one complete request. */
import type { FoundPage, FoundRequest, RequestsQuery } from '../../../request-log/logged-request.ts';
import { findRequest, searchRequests } from '../../../request-log/search.ts';
import { Refusal } from '../../../errors.ts';
import type { AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

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
    .option('--cursor <cursor>', 'the next 50: the cursor that the previous output shows')
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
