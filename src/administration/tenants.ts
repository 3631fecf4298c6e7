/**
 * Tenants and their settings: creates, lists, changes, restores, moves and removes them. The operator sets quota and
 * rate; an owner can only set a second quota, `ownQuota`. Source: decision 0023.
 */
import { entryBy } from '../audit/audit.ts';
import { formatTime } from '../clock.ts';
import { orThrow, refuseCommand } from '../errors.ts';
import { booleanOf, objectOf, oneOf, textOf, type TypedSchema } from '../json-schema.ts';
import { FIRST_STAGES } from '../pims/rules/stages.ts';
import type { Tenant, TenantSettings } from '../tenant/tenant-port.ts';
import { checkTeamId, checkTenantName } from '../tenant/tenant.ts';
import { action, pick, withHelp, type ActionContext } from './action.ts';

/** Null removes the limit. */
const quotaOrNone: TypedSchema<number | null> = { type: ['integer', 'null'], minimum: 1, maximum: 999_999_999_999_999 };
const rateOrNone: TypedSchema<number | null> = { type: ['number', 'null'], minimum: 0.001, maximum: 999_999.999 };
const defaultStage = withHelp(oneOf(FIRST_STAGES), 'stage of new orders without an ORDER_TYPE', {
  title: 'defaultStage <stage>',
});

const viewTenant = (tenant: Tenant) => ({
  teamID: tenant.teamId,
  ...pick(tenant, 'name', 'createdAt', 'defaultStage', 'strict', 'monthQuota', 'callsPerSecond'),
});
const HEAD = ['TEAM', 'NAME', 'MADE', 'DEFAULT STAGE', 'STRICT', 'QUOTA', 'RATE'];
/** The members of a tenant are in the order of the columns. */
const rowOfTenant = (tenant: ReturnType<typeof viewTenant>) => {
  const { createdAt, strict } = tenant;
  const shown = { ...tenant, createdAt: createdAt.slice(0, 10), strict: strict ? 'on' : 'off' };
  return Object.values(shown).map((value) => value ?? 'none');
};
const viewSettings = ({ requestLogDays }: ActionContext, tenant: Tenant) => ({
  ...viewTenant(tenant),
  ownQuota: tenant.ownQuota,
  requestLogDays,
});

function placementOf({ placement }: ActionContext) {
  if (placement) return placement;
  throw refuseCommand(
    'All tenants are on one server. docs/several-nodes/several-servers.md says how to spread them with Citus.',
  );
}

/** Returns the new values of the settings that change, for the audit log. */
function findChanges(before: Tenant, after: Partial<TenantSettings>): Record<string, string> {
  const changed = Object.entries(after).filter(([name, value]) => before[name as keyof TenantSettings] !== value);
  return Object.fromEntries(changed.map(([name, value]) => [name, String(value ?? 'none')]));
}

/** Saves settings and returns the tenant with them. */
async function saveSettings(
  { tenants, tenant, teamId, actor }: ActionContext,
  settings: Partial<Tenant>,
  detail: Record<string, string>,
): Promise<Tenant> {
  const changed = { ...tenant, ...settings };
  await tenants.updateTenant(teamId, changed, entryBy(actor, 'tenant changed', teamId, detail));
  return changed;
}

export const TENANTS = {
  'tenant create': action({
    about: 'Create a tenant. It has no keys yet.',
    takes: objectOf(
      { teamID: textOf(undefined, { title: 'team' }) },
      {
        name: textOf('name shown to people (default: the team ID)'),
        create: booleanOf('create a new store if there is none; not needed for an empty folder in STOREROOM_DATA'),
      },
    ),
    notes: 'tenant created',
    check: ({ teamID, name = teamID }) => {
      checkTeamId(teamID);
      checkTenantName(name);
    },
    run: async ({ tenants, actor }, { teamID, name = teamID }) => {
      const entry = entryBy(actor, 'tenant created', teamID, { name });
      return viewTenant(orThrow(await tenants.createTenant(teamID, name, formatTime(actor.nowMs), entry)));
    },
    command: 'tenant create <teamID>',
    example: "--name 'Acme Ltd.'",
    show: ({ teamID }) => [
      `Created the tenant ${teamID}. \`storeroom keys create ${teamID} --name NAME\` issues its keys.
Orders accept codes of unknown parts and customers. \`storeroom tenant set ${teamID} --strict on\` refuses them.`,
    ],
  }),
  'tenant list': action({
    about: 'List the tenants and their settings.',
    run: async ({ tenants }) => ({ tenants: (await tenants.listTenants()).map(viewTenant) }),
    command: 'tenant list',
    show: ({ tenants }) => [tenants.length === 0 ? 'There are no tenants.' : [HEAD, ...tenants.map(rowOfTenant)]],
  }),
  'GET /settings': action({
    about: 'Show the settings of a tenant.',
    role: 'viewer',
    run: async (context) => viewSettings(context, context.tenant),
  }),
  'POST /settings': action({
    about: 'Change the settings that an owner may change.',
    role: 'owner',
    proof: 'recent',
    takes: objectOf({ name: textOf(), defaultStage, strict: booleanOf() }, { ownQuota: quotaOrNone }),
    notes: 'tenant changed',
    check: ({ name }) => checkTenantName(name),
    run: async (context, given) => {
      const { ownQuota } = context.tenant;
      const { name, strict, ownQuota: quota = ownQuota } = given;
      const limit = quota === ownQuota ? {} : { ownQuota: String(quota ?? 'none') };
      const detail = { name, defaultStage: given.defaultStage, strict: strict ? 'on' : 'off', ...limit };
      return viewSettings(context, await saveSettings(context, given, detail));
    },
  }),
  'tenant set': action({
    about: 'Change settings of a tenant.',
    takes: {
      ...objectOf(
        {},
        {
          defaultStage,
          strict: withHelp(oneOf(['on', 'off']), 'whether the codes of parts, customers and locations must exist', {
            title: 'strict <on|off>',
          }),
          monthQuota: withHelp(quotaOrNone, 'calls per calendar month (UTC), or none', { title: 'quota <calls>' }),
          callsPerSecond: withHelp(rateOrNone, 'calls per second, or none', { title: 'rate <calls>' }),
        },
      ),
      minProperties: 1,
    },
    notes: 'tenant changed',
    run: async (context, { strict, ...given }) => {
      const settings = { ...given, ...(strict !== undefined && { strict: strict === 'on' }) };
      return viewTenant(await saveSettings(context, settings, findChanges(context.tenant, settings)));
    },
    command: 'tenant set <team>',
    example: '--strict on --quota 100000',
  }),
  'tenant restore': action({
    about: "Restore a tenant's records from a backup. The service can keep running.",
    takes: objectOf({ from: textOf('the backup', { title: 'from <folder>' }) }),
    notes: 'tenant restored',
    isEmbedded: true,
    run: async ({ restoreTenant, tenant, teamId, actor }, { from }) => ({
      restored: true,
      formerFile: await restoreTenant!(tenant, from, entryBy(actor, 'tenant restored', teamId, { from })),
    }),
    command: 'tenant restore <team>',
    example: '--from /backups/2026-11-20 --yes',
    confirm: ({ name }) => `This discards every change to the records of ${name} since the backup.`,
    show: ({ teamID, formerFile: old }) => {
      const kept = old === null ? '' : ` Its former file is kept: ${old}. Delete it when you no longer need it.`;
      return [`Restored ${teamID}.${kept}`];
    },
  }),
  'tenant place': action({
    about: 'Show the server that a tenant is on.',
    run: async (context) => ({ server: await placementOf(context).findServer(context.tenant.storeId) }),
    command: 'tenant place <team>',
    show: ({ teamID, server }) => [`${teamID} is on ${server}.`],
  }),
  'tenant move': action({
    about: 'Move a tenant to another database server. The service can keep running.',
    takes: objectOf({
      to: textOf('the server, host:port, as `storeroom database list` shows it', { title: 'to <server>' }),
    }),
    notes: 'tenant moved',
    run: async (context, { to }) => {
      const { audit, clock, teamId, actor, tenant } = context;
      const placement = placementOf(context);
      const from = await placement.findServer(tenant.storeId);
      if (from !== to) {
        await placement.move(tenant.storeId, to);
        await audit.appendAudit(teamId, entryBy({ ...actor, nowMs: clock.now() }, 'tenant moved', teamId, { to }));
      }
      return { from, to };
    },
    command: 'tenant move <team>',
    example: '--to 10.0.0.12:5432',
    show: ({ teamID, from, to }) => [
      from === to ? `${teamID} is on ${to} already.` : `Moved ${teamID} from ${from} to ${to}.`,
    ],
  }),
  'tenant remove': action({
    about: 'Remove a tenant with its keys, its usage and all its records.',
    run: async ({ tenants, tenant }) => {
      await tenants.deleteTenant(tenant);
      return { removed: true };
    },
    command: 'tenant remove <team>',
    example: '--yes',
    confirm: ({ name }) => `This removes ${name} with its keys, usage and all records.`,
    show: ({ teamID }) => [`Removed the tenant ${teamID} and all its data. Backups keep it until they are deleted.`],
  }),
  'database list': action({
    about: 'List the servers of the database, with the number of tenants on each.',
    run: async (context) => ({ servers: await placementOf(context).listServers() }),
    command: 'database list',
    example: '--json',
    show: ({ servers }) => [
      [
        ['SERVER', 'ACCEPTS TENANTS', 'TENANTS'],
        ...servers.map(({ address, takesTenants, tenants }) => [address, takesTenants ? 'yes' : 'no', tenants]),
      ],
    ],
  }),
};
