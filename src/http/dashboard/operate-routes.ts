/**
 * The state of the node that answers, for the operator of the service: health, backups, and the calls of every team.
 */
import type { SignedIn } from '../../account/account-port.ts';
import { NOTHING } from '../../administration/action.ts';
import { VERSION } from '../../assets.ts';
import { entryBy } from '../../audit/audit.ts';
import { formatTime } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import { declareChange, pick, declareRead, type DashboardServices, type RequestContext } from './typed-route.ts';

const TEAMS_SHOWN_MAX = 100;
const NO_BACKUPS = {
  SQLite: 'No backups are scheduled. Set STOREROOM_BACKUP_DIR and start the service again.',
  PostgreSQL: 'The service does not back up PostgreSQL. Use its own tools, such as pg_basebackup.',
};
const NOT_OPERATOR = 'This page is for owners of the team that STOREROOM_OPERATOR_TEAM names.';

/** Returns whether the user is an owner of the team that operates the service. */
export async function isOperator(
  { tenants, operatorTeam }: DashboardServices,
  { user, tenant }: SignedIn,
): Promise<boolean> {
  if (user.role !== 'owner') return false;
  // The only team needs no setting. With a second one, a default would show every team to the owners of one of them.
  return operatorTeam ? tenant.teamId === operatorTeam : (await tenants.listOldest(2)).length === 1;
}

async function checkOperator(context: RequestContext) {
  if (!(await isOperator(context, context.signedIn))) throw new Refusal('NOT_FOUND', NOT_OPERATOR);
}

const nameStore = ({ readings }: DashboardServices): keyof typeof NO_BACKUPS =>
  readings().disk ? 'SQLite' : 'PostgreSQL';

export const OPERATE_ROUTES = {
  /** Only for the operator's team. NOT_FOUND for others. */
  'GET /operate': declareRead('owner', async (context) => {
    await checkOperator(context);
    const { tenants, usage, readings, clock, startedAt, client } = context;
    const teams = await tenants.listOldest(TEAMS_SHOWN_MAX);
    const month = formatTime(client.nowMs).slice(0, 7);
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
      store: nameStore(context),
      disk: disk ? pick(disk, 'freeBytes', 'sizeBytes', 'lowBytes') : null,
      requestLog: pick(requestLog, 'isStopped', 'dropped'),
      /** The state of the backups; null if the service makes none. */
      backup,
      /** The oldest teams, at most 100, with their calls this month (UTC). */
      teams: teams.map(({ teamId, name, createdAt }) => ({
        teamID: teamId,
        name,
        createdAt,
        monthCalls: callsOf.get(teamId) ?? 0,
      })),
    };
  }),
  /** Begins a backup, and does not wait for it. NOT_FOUND; COMMAND_REFUSED if no backups are scheduled. */
  'POST /operate/backup': declareChange('owner', 'recent', NOTHING, async (context) => {
    await checkOperator(context);
    const { audit, teamId, actor, backUp } = context;
    if (!backUp) throw refuseCommand(NO_BACKUPS[nameStore(context)]);
    await audit.appendAudit(teamId, entryBy(actor, 'backup started', 'service'));
    // A backup can take long. It counts and logs a failure itself, and the page shows the count.
    void backUp();
  }),
};
