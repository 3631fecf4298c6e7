/**
 * Usage and the request log: the metered calls of a month with their refusals, and searching logged requests.
 */
import { ERRORS, Refusal, type ErrorCode } from '../../errors.ts';
import type { UsageCount } from '../../tenant/port.ts';
import { BASE_PATH, type Operation } from '../operations/operation.ts';
import type { OperationServices } from '../stages.ts';
import type { CalledPath } from './interface.ts';
import { REQUEST_QUERY, REQUESTS_QUERY, USAGE_QUERY } from './request-schemas.ts';
import type { DashboardServices } from './services.ts';
import { route, type Route } from './typed-route.ts';

export function usageRoutes(
  { usage, requests, requestLog, requestLogDays }: OperationServices & DashboardServices,
  operations: readonly Operation[],
): Route[] {
  const places = new Map<string, CalledPath>(
    operations.map(({ name, method, path }) => [name, { method, path: BASE_PATH + path }]),
  );
  const withPlace = <Request extends { operation: string }>(request: Request) => ({
    ...request,
    ...places.get(request.operation)!,
  });

  return [
    route('GET /usage', {
      role: 'viewer',
      query: USAGE_QUERY,
      run: async ({ signedIn: { tenant }, query, nowMs }) => {
        const wanted = query.month ?? new Date(nowMs).toISOString().slice(0, 7);
        await requestLog.settled();
        const [{ total, byDay }, refusals, months] = await Promise.all([
          usage.loadUsage(tenant.teamId, wanted),
          requests.loadRefusals(tenant.teamId, wanted),
          usage.listMonths(tenant.teamId),
        ]);
        const keyOf = ({ day, operation }: Pick<UsageCount, 'day' | 'operation'>): string => `${day} ${operation}`;
        const refusedOf = new Map(refusals.map((count) => [keyOf(count), count.calls]));
        const rows = byDay.map((row) => ({ ...row, refused: refusedOf.get(keyOf(row)) ?? 0 }));
        return {
          month: wanted,
          total,
          refused: rows.reduce((sum, { refused }) => sum + refused, 0),
          monthQuota: tenant.monthQuota,
          rows,
          months,
        };
      },
    }),
    route('GET /requests', {
      role: 'viewer',
      query: REQUESTS_QUERY,
      run: async ({ signedIn: { tenant }, query, nowMs }) => {
        const page = await requestLog.search(tenant.teamId, query, nowMs);
        return { ...page, requests: page.requests.map(withPlace) };
      },
    }),
    route('GET /requests/single', {
      role: 'viewer',
      query: REQUEST_QUERY,
      run: async ({ signedIn: { tenant }, query, nowMs }) => {
        const found = await requestLog.find(tenant.teamId, query.requestID, nowMs);
        if (!found)
          throw new Refusal('NOT_FOUND', `No request of the last ${requestLogDays} days has this ID.`, {
            field: 'requestID',
          });
        return { ...withPlace(found), remedy: found.code === null ? null : ERRORS[found.code as ErrorCode].remedy };
      },
    }),
  ];
}
