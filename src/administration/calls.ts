/** The calls of a tenant: counts of a month with their refusals, and the request log, newest first. */
import { formatTime } from '../clock.ts';
import { ERRORS, refuseField, type ErrorCode } from '../errors.ts';
import { matching, objectOf, required, textOf } from '../json-schema.ts';
import type { FoundRequest } from '../request-log/lines.ts';
import { quotaOf } from '../tenant/calls.ts';
import { action, pick, withHelp } from './action.ts';

interface DayCount {
  readonly day: string;
  readonly operation: string;
  readonly calls: number;
}
const keyOf = ({ day, operation }: Pick<DayCount, 'day' | 'operation'>) => `${day} ${operation}`;
const SEARCH = {
  status: textOf('a status such as 404, or a class such as 5xx'),
  operation: textOf('an operation such as createOrder', { title: 'operation <name>' }),
  from: textOf('UTC, such as 2026-11-20T09:30:00Z', { title: 'from <time>' }),
  to: textOf('UTC; requests before this time', { title: 'to <time>' }),
  cursor: textOf('cursor that the previous output shows, for the next 50'),
  key: textOf('the API ID of a pair of keys, or explorer'),
  code: textOf('an error code such as NOT_FOUND'),
  order: textOf('number of an order that the request names'),
};

/** Sums up calls by day or by operation. */
function sumCalls(rows: readonly DayCount[], by: 'day' | 'operation'): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const row of rows) sums[row[by]] = (sums[row[by]] ?? 0) + row.calls;
  return sums;
}
const listSums = (rows: readonly DayCount[], by: 'day' | 'operation') =>
  Object.entries(sumCalls(rows, by)).map(([name, calls]) => ({ [by]: name, calls }));

export const CALLS = {
  'GET /usage': action({
    about: 'Show how many calls a tenant made in a month (UTC).',
    role: 'viewer',
    takes: objectOf(
      {},
      {
        month: withHelp(matching('^\\d{4}-(0[1-9]|1[0-2])$'), 'YYYY-MM (default: this month)', {
          $comment: 'look like 2026-11',
        }),
      },
    ),
    isLong: true,
    run: async ({ usage, logCounts, requestLog, tenant, teamId, actor }, given) => {
      const month = given.month ?? formatTime(actor.nowMs).slice(0, 7);
      await requestLog.settled();
      const [{ total, byDay, byKey }, refusals, months] = await Promise.all([
        usage.loadUsage(teamId, month),
        logCounts.loadRefusals(teamId, month),
        usage.listMonths(teamId),
      ]);
      const refusedOf = new Map(refusals.map((count) => [keyOf(count), count.calls]));
      const rows = byDay.map((row) => ({ ...row, refused: refusedOf.get(keyOf(row)) ?? 0 }));
      return {
        month,
        total,
        refused: rows.reduce((sum, row) => sum + row.refused, 0),
        monthQuota: quotaOf(tenant),
        rows,
        /** Calls by pair of keys. Other calls were made in the explorer. */
        byKey: byKey.map(({ apiId: apiID, name, calls }) => ({ apiID, name, calls })),
        /** Months with calls, newest first. */
        months,
      };
    },
    command: 'usage <team>',
    example: '--month 2026-11',
    json: ({ month, total, rows, byKey }) => ({
      month,
      total,
      byDay: listSums(rows, 'day'),
      byOperation: listSums(rows, 'operation'),
      byKey,
    }),
    show: ({ teamID, month, total, rows, byKey }) => [
      `${teamID} made ${total} calls in ${month} (UTC).`,
      sumCalls(rows, 'day'),
      sumCalls(rows, 'operation'),
      byKey.map(({ name, apiID, calls }) => [name, apiID, calls]),
    ],
  }),
  'GET /requests': action({
    about: 'Show the logged requests, newest first, 50 at a time.',
    role: 'viewer',
    takes: objectOf({}, SEARCH),
    isLong: true,
    run: async ({ requestLog, placeOf, tenant, actor }, given) => {
      const page = await requestLog.search(tenant, given, actor.nowMs);
      return { ...page, requests: page.requests.map((request) => ({ ...request, ...placeOf(request.operation) })) };
    },
    command: 'requests <team>',
    example: '--status 5xx --from 2026-11-20T22:00:00Z',
    json: (told) => pick(told, 'requests', 'next', 'searchedTo'),
    show: ({ requests, next, searchedTo }) => [
      [HEAD, ...requests.map(rowOfRequest)],
      next === null ? '' : `The search went back to ${searchedTo}. To continue it, add --cursor ${next}`,
    ],
  }),
  'GET /requests/rejected': action({
    about: 'List the last calls to this node that had no valid keys, newest first.',
    role: 'developer',
    run: async ({ rejectedCalls, teamId }) => ({ calls: rejectedCalls.listRejected(teamId) }),
  }),
  'GET /requests/single': action({
    about: 'one request with its parameters and its body, and what to do about a refusal',
    role: 'viewer',
    takes: objectOf({ requestID: required(undefined, { title: 'id <request-id>' }) }),
    isLong: true,
    run: async ({ requestLog, requestLogDays, placeOf, tenant, actor }, { requestID }) => {
      const found = await requestLog.findDetail(tenant, requestID, actor.nowMs);
      const missing = `No request of the last ${requestLogDays} days has this ID.`;
      if (!found) throw refuseField('NOT_FOUND', 'requestID', missing);
      /** `remedy` is null for a call that succeeded. */
      const remedy = found.code === null ? null : ERRORS[found.code as ErrorCode].remedy;
      return { ...found, ...placeOf(found.operation), remedy };
    },
    command: 'requests <team> --id <requestID>',
    json: ({ teamID: _team, ...request }) => ({ request }),
    show: ({ teamID: _team, ...request }) => [request],
  }),
};

const HEAD = ['AT', 'STATUS', 'CODE', 'OPERATION', 'MS', 'CALLER', 'CLIENT', 'REQUEST ID'];
const rowOfRequest = ({ at, httpStatus, code, operation, milliseconds, client, requestID, ...by }: FoundRequest) => {
  const caller = by.keyName ?? by.apiID ?? by.explorerUser ?? '';
  return [at, httpStatus, code ?? '', operation, milliseconds, caller, client, requestID];
};
