/** Usage and the request log: the metered calls of a month with their refusals, and searching logged requests. */
import { ERRORS, Refusal, type ErrorCode } from '../../errors.ts';
import { quotaOf } from '../../tenant/tenant.ts';
import type { UsageCount } from '../../tenant/tenant-port.ts';
import { BASE_PATH, type Operation } from '../operations/operation.ts';
import type { CalledPath } from './interface.ts';
import { readInTurn, type Handlers, type DashboardServices } from './typed-route.ts';

const keyOf = ({ day, operation }: Pick<UsageCount, 'day' | 'operation'>): string => `${day} ${operation}`;

export function usageRoutes(
  { usage, requests, requestLog, requestLogDays, takeTurn, rejectedCalls }: DashboardServices,
  operations: readonly Operation[],
) {
  const places = new Map<string, CalledPath>(
    operations.map(({ name, method, path }) => [name, { method, path: BASE_PATH + path }]),
  );
  const withPlace = <Request extends { operation: string }>(request: Request) => ({
    ...request,
    ...places.get(request.operation)!,
  });

  return {
    'GET /usage': async ({ signedIn: { tenant }, query, client }) => {
      const month = query.month ?? new Date(client.nowMs).toISOString().slice(0, 7);
      await requestLog.settled();
      const [{ total, byDay, byKey: counts }, refusals, months] = await Promise.all([
        usage.loadUsage(tenant.teamId, month),
        requests.loadRefusals(tenant.teamId, month),
        usage.listMonths(tenant.teamId),
      ]);
      const refusedOf = new Map(refusals.map((count) => [keyOf(count), count.calls]));
      const rows = byDay.map((row) => ({ ...row, refused: refusedOf.get(keyOf(row)) ?? 0 }));
      const refused = rows.reduce((sum, row) => sum + row.refused, 0);
      const byKey = counts.map(({ apiId, name, calls }) => ({ apiID: apiId, name, calls }));
      return { month, total, refused, monthQuota: quotaOf(tenant), rows, byKey, months };
    },
    'GET /requests': async (context) => {
      const { tenant } = context.signedIn;
      const search = () => requestLog.search(tenant, context.query, context.client.nowMs);
      const page = await readInTurn(takeTurn, context, search);
      return { ...page, requests: page.requests.map(withPlace) };
    },
    'GET /requests/rejected': ({ signedIn }) => Promise.resolve({ calls: rejectedCalls.list(signedIn.tenant.teamId) }),
    'GET /requests/single': async (context) => {
      const { tenant } = context.signedIn;
      const find = () => requestLog.find(tenant, context.query.requestID, context.client.nowMs);
      const found = await readInTurn(takeTurn, context, find);
      const missing = `No request of the last ${requestLogDays} days has this ID.`;
      if (!found) throw new Refusal('NOT_FOUND', missing, { field: 'requestID' });
      return { ...withPlace(found), remedy: found.code === null ? null : ERRORS[found.code as ErrorCode].remedy };
    },
  } satisfies Partial<Handlers>;
}
