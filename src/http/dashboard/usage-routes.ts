/**
 * Usage, the request log, and the state of the service for its operator: the metered calls of a month with their
 * refusals, searching logged requests, health, backups, and the calls of every team.
 */
import type { SignedIn } from '../../account/account-port.ts';
import { VERSION } from '../../assets.ts';
import { entryBy } from '../../audit/audit.ts';
import { formatTime } from '../../clock.ts';
import { ERRORS, Refusal, refuseCommand, refuseField, type ErrorCode } from '../../errors.ts';
import { quotaOf } from '../../tenant/calls.ts';
import type { UsageCount } from '../../tenant/tenant-port.ts';
import { type Operation } from '../operations/operation.ts';
import { BASE_PATH } from '../server/protocol.ts';
import type { CalledPath } from './interface.ts';
import { pick, type DashboardServices, type Handlers, type RequestContext } from './typed-route.ts';

const keyOf = ({ day, operation }: Pick<UsageCount, 'day' | 'operation'>) => `${day} ${operation}`;

export function usageRoutes(
  { usage, requests, requestLog, requestLogDays, rejectedCalls }: DashboardServices,
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
    'GET /usage': async ({ tenant, query, client, readInTurn }) => {
      const month = query.month ?? formatTime(client.nowMs).slice(0, 7);
      await requestLog.settled();
      const [{ total, byDay, byKey: counts }, refusals, months] = await readInTurn(() =>
        Promise.all([
          usage.loadUsage(tenant.teamId, month),
          requests.loadRefusals(tenant.teamId, month),
          usage.listMonths(tenant.teamId),
        ]),
      );
      const refusedOf = new Map(refusals.map((count) => [keyOf(count), count.calls]));
      const rows = byDay.map((row) => ({ ...row, refused: refusedOf.get(keyOf(row)) ?? 0 }));
      const refused = rows.reduce((sum, row) => sum + row.refused, 0);
      const byKey = counts.map(({ apiId, name, calls }) => ({ apiID: apiId, name, calls }));
      return { month, total, refused, monthQuota: quotaOf(tenant), rows, byKey, months };
    },
    'GET /requests': async ({ tenant, query, client, readInTurn }) => {
      const page = await readInTurn(() => requestLog.search(tenant, query, client.nowMs));
      return { ...page, requests: page.requests.map(withPlace) };
    },
    'GET /requests/rejected': async ({ tenant }) => ({ calls: rejectedCalls.list(tenant.teamId) }),
    'GET /requests/single': async ({ tenant, query, client, readInTurn }) => {
      const found = await readInTurn(() => requestLog.find(tenant, query.requestID, client.nowMs));
      const missing = `No request of the last ${requestLogDays} days has this ID.`;
      if (!found) throw refuseField('NOT_FOUND', 'requestID', missing);
      return { ...withPlace(found), remedy: found.code === null ? null : ERRORS[found.code as ErrorCode].remedy };
    },
  } satisfies Partial<Handlers>;
}

const TEAMS_SHOWN_MAX = 100;
const NO_BACKUPS = {
  SQLite: 'No backups are scheduled. Set STOREROOM_BACKUP_DIR and start the service again.',
  PostgreSQL: 'The service does not back up PostgreSQL. Use its own tools, such as pg_basebackup.',
};

/** Returns whether the user is an owner of the team that operates the service. */
export async function isOperator(
  { tenants, operatorTeam }: DashboardServices,
  { user, tenant }: SignedIn,
): Promise<boolean> {
  if (user.role !== 'owner') return false;
  // The only team needs no setting. With a second one, a default would show every team to the owners of one of them.
  return operatorTeam ? tenant.teamId === operatorTeam : (await tenants.listOldest(2)).length === 1;
}

export function operateRoutes(services: DashboardServices) {
  const { tenants, usage, audit, readings, clock, backUp } = services;
  const startedAt = clock.elapsed();
  const check = async ({ signedIn }: RequestContext) => {
    if (await isOperator(services, signedIn)) return;
    throw new Refusal('NOT_FOUND', 'This page is for owners of the team that STOREROOM_OPERATOR_TEAM names.');
  };
  const nameStore = (): keyof typeof NO_BACKUPS => (readings().disk ? 'SQLite' : 'PostgreSQL');
  return {
    'GET /operate': async (context) => {
      await check(context);
      const teams = await tenants.listOldest(TEAMS_SHOWN_MAX);
      const month = formatTime(context.client.nowMs).slice(0, 7);
      const counts = await usage.loadMonth(
        month,
        teams.map(({ teamId }) => teamId),
      );
      const callsOf = new Map(counts.map(({ teamId, calls }) => [teamId, calls]));
      const { disk, requestLog, backup = null, ...now } = readings();
      return {
        ...pick(now, 'ready', 'usable', 'meteringFailures', 'webhooks'),
        version: VERSION,
        upSeconds: Math.floor((clock.elapsed() - startedAt) / 1000),
        store: nameStore(),
        disk: disk ? pick(disk, 'freeBytes', 'sizeBytes', 'lowBytes') : null,
        requestLog: pick(requestLog, 'isStopped', 'dropped'),
        backup,
        teams: teams.map(({ teamId, name, createdAt }) => ({
          teamID: teamId,
          name,
          createdAt,
          monthCalls: callsOf.get(teamId) ?? 0,
        })),
      };
    },
    'POST /operate/backup': async (context) => {
      await check(context);
      if (!backUp) throw refuseCommand(NO_BACKUPS[nameStore()]);
      await audit.appendAudit(context.tenant.teamId, entryBy(context.actor, 'backup started', 'service'));
      // A backup can take long. It counts and logs a failure itself, and the page shows the count.
      void backUp();
    },
  } satisfies Partial<Handlers>;
}
