/** The node that answers, for the operator of the service: health, backups, and the calls of every team. */
import type { SignedIn } from '../account/account-port.ts';
import { VERSION } from '../assets.ts';
import { entryBy } from '../audit/audit.ts';
import { formatTime } from '../clock.ts';
import { refuseCommand } from '../errors.ts';
import { action, pick, type ActionServices } from './action.ts';

const TEAMS_SHOWN_MAX = 100;
const NO_BACKUPS = {
  SQLite: 'No backups are scheduled. Set STOREROOM_BACKUP_DIR and start the service again.',
  PostgreSQL: 'The service does not back up PostgreSQL. Use its own tools, such as pg_basebackup.',
};

/**
 * Returns whether the user is an owner of the team that operates the service. If `operatorTeam` is '', the only team
 * does, and none of several teams.
 */
export async function isOperator(
  { tenants }: Pick<ActionServices, 'tenants'>,
  operatorTeam: string,
  { user, tenant }: SignedIn,
): Promise<boolean> {
  if (user.role !== 'owner') return false;
  // The only team needs no setting. With a second one, a default would show every team to the owners of one of them.
  return operatorTeam ? tenant.teamId === operatorTeam : (await tenants.listOldest(2)).length === 1;
}

const nameStore = ({ node }: ActionServices): keyof typeof NO_BACKUPS =>
  node!.readings().disk ? 'SQLite' : 'PostgreSQL';

export const OPERATE = {
  'GET /operate': action({
    about: 'Show the state of the node that answers, and the calls of every team.',
    role: 'owner',
    isForOperator: true,
    run: async (context) => {
      const { tenants, usage, node, clock, actor } = context;
      const teams = await tenants.listOldest(TEAMS_SHOWN_MAX);
      const month = formatTime(actor.nowMs).slice(0, 7);
      const counts = await usage.loadMonth(
        month,
        teams.map(({ teamId }) => teamId),
      );
      const callsOf = new Map(counts.map(({ teamId, calls }) => [teamId, calls]));
      const { disk, requestLog, backup = null, ...now } = node!.readings();
      return {
        ...pick(now, 'ready', 'usable', 'meteringFailures', 'webhooks'),
        version: VERSION,
        upSeconds: Math.floor((clock.elapsed() - node!.startedAt) / 1000),
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
    },
  }),
  'POST /operate/backup': action({
    about: 'Begin a backup, without waiting for it.',
    role: 'owner',
    proof: 'recent',
    isForOperator: true,
    notes: 'backup started',
    /** Throws COMMAND_REFUSED if no backups are scheduled. */
    run: async (context) => {
      const { audit, teamId, actor, node } = context;
      if (!node!.backUp) throw refuseCommand(NO_BACKUPS[nameStore(context)]);
      await audit.appendAudit(teamId, entryBy(actor, 'backup started', 'service'));
      // A backup can take long. It counts and logs a failure itself, and the page shows the count.
      void node!.backUp();
    },
  }),
};
