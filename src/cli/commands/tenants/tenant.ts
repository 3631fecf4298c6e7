/**
 * `storeroom tenant …`: creates, lists, changes, restores and removes tenants, and with Citus shows and changes the
 * server of a tenant. `storeroom database list` lists the servers. keys.ts issues the keys.
 */
import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError, Option } from 'commander';
import { byCommand } from '../../../audit/audit.ts';
import { orThrow, refuseCommand } from '../../../errors.ts';
import { FIRST_STAGES } from '../../../pims/rules/stages.ts';
import type { Store } from '../../../store/open-store.ts';
import type { Tenant, TenantSettings } from '../../../tenant/tenant-port.ts';
import { checkTeamId, checkTenantName } from '../../../tenant/tenant.ts';
import { addCommand, addGroup, buildTable, printAnswer, timeOf, type AddCommands } from '../../command.ts';
import {
  addTenantCommand,
  findTenant,
  isGivenEmpty,
  withEmbeddedStore,
  withStore,
  withTenant,
} from '../../open-store.ts';

export const addDatabaseCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'database', 'database list', 'Show the servers of a database with Citus.');
  const description = 'List the servers of the database, with the number of tenants on each.';
  addCommand(group, 'list', 'database list --json', description).action(async () => {
    const servers = await withStore(context, (store) => placementOf(store).listServers());
    const rows = servers.map(({ address, takesTenants, tenants }) => [address, takesTenants ? 'yes' : 'no', tenants]);
    printAnswer(context, { servers }, buildTable([['SERVER', 'ACCEPTS TENANTS', 'TENANTS'], ...rows]));
  });
};

const addPlaceCommands: AddCommands = (group, context) => {
  const showing = 'Show the server that a tenant is on.';
  addTenantCommand(group, context, 'place <team>', 'tenant place acme', showing, async ({ store, teamId, tenant }) => {
    const server = await placementOf(store).findServer(tenant.storeId);
    return [{ server }, `${teamId} is on ${server}.`];
  });
  const description = 'Move a tenant to another database server. The service can keep running.';
  addTenantCommand(
    group,
    context,
    'move <team>',
    'tenant move acme --to 10.0.0.12:5432',
    description,
    async ({ store, teamId, tenant: { storeId } }, { to }: { to: string }) => {
      const placement = placementOf(store);
      const from = await placement.findServer(storeId);
      if (from === to) return [{ from, to }, `${teamId} is on ${to} already.`];
      await placement.move(storeId, to);
      await store.audit.appendAudit(teamId, byCommand(timeOf(context.clock), 'tenant moved', teamId, { to }));
      return [{ from, to }, `Moved ${teamId} from ${from} to ${to}.`];
    },
  ).requiredOption('--to <server>', 'the server, host:port, as `storeroom database list` shows it');
};

function placementOf({ placement }: Store) {
  if (placement) return placement;
  throw refuseCommand('All tenants are on one server. docs/several-servers.md says how to spread them with Citus.');
}

/** A limit of calls. 'none' means no limit, because commander replaces null. */
type Limit = number | 'none';

interface SetOptions {
  readonly defaultStage?: TenantSettings['defaultStage'];
  readonly strict?: 'on' | 'off';
  readonly quota?: Limit;
  readonly rate?: Limit;
}

export const addTenantCommands: AddCommands = (program, context) => {
  const description = 'Create, list, change and remove tenants.';
  const group = addGroup(program, 'tenant', "tenant create acme --name 'Acme Ltd.'", description);
  addCreateCommand(group, context);
  addListCommand(group, context);
  addSetCommand(group, context);
  addRestoreCommand(group, context);
  addPlaceCommands(group, context);
  addRemoveCommand(group, context);
};

const addCreateCommand: AddCommands = (group, context) => {
  addCommand(group, 'create <team>', "tenant create acme --name 'Acme Ltd.'", 'Create a tenant. It has no keys yet.')
    .option('--name <name>', 'name shown to people (default: the team ID)')
    .option('--create', 'create a new store if there is none; not needed for an empty folder in STOREROOM_DATA')
    .action(async (teamId: string, { name = teamId, create = false }: { name?: string; create?: boolean }) => {
      checkTeamId(teamId);
      checkTenantName(name);
      const now = timeOf(context.clock);
      const entry = byCommand(now, 'tenant created', teamId, { name });
      const add = (store: Store) => store.tenants.createTenant(teamId, name, now, entry);
      const made = await withStore(context, add, { create: create || isGivenEmpty(context.environment) });
      const text = `Created the tenant ${teamId}. \`storeroom keys create ${teamId} --name NAME\` issues its keys.
Orders accept codes of unknown parts and customers. \`storeroom tenant set ${teamId} --strict on\` refuses them.`;
      printAnswer(context, viewTenant(orThrow(made)), text);
    });
};

const addListCommand: AddCommands = (group, context) => {
  addCommand(group, 'list', 'tenant list --json', 'List the tenants and their settings.').action(async () => {
    const tenants = (await withStore(context, (store) => store.tenants.listTenants())).map(viewTenant);
    const head = ['TEAM', 'NAME', 'MADE', 'DEFAULT STAGE', 'STRICT', 'QUOTA', 'RATE'];
    const rows = tenants.map(({ teamID, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond }) => [
      teamID,
      name,
      createdAt.slice(0, 10),
      defaultStage,
      strict ? 'on' : 'off',
      formatValue(monthQuota),
      formatValue(callsPerSecond),
    ]);
    printAnswer(context, { tenants }, tenants.length === 0 ? 'There are no tenants.' : buildTable([head, ...rows]));
  });
};

const addSetCommand: AddCommands = (group, context) => {
  const command = addCommand(
    group,
    'set <team>',
    'tenant set acme --strict on --quota 100000',
    'Change settings of a tenant.',
  )
    .addOption(new Option('--default-stage <stage>', 'stage of new orders without an ORDER_TYPE').choices(FIRST_STAGES))
    .addOption(
      new Option('--strict <on|off>', 'whether the codes of parts, customers and locations must exist').choices([
        'on',
        'off',
      ]),
    )
    .option('--quota <calls>', 'calls per calendar month (UTC), or none', (text) =>
      parseLimit(text, /^[1-9]\d{0,14}$/, 'a whole number from 1'),
    )
    .option('--rate <calls>', 'calls per second, or none', (text) =>
      parseLimit(text, /^(?=.*[1-9])\d{1,6}(\.\d{1,3})?$/, 'a number above 0'),
    );
  command.action(async (teamId: string, options: SetOptions) => {
    const { defaultStage, strict, quota, rate } = options;
    if ([defaultStage, strict, quota, rate].every((value) => value === undefined))
      command.error('error: nothing to set: give at least one option');
    const changed = await withTenant(context, teamId, async ({ store, tenant }) => {
      const settings: TenantSettings = {
        defaultStage: defaultStage ?? tenant.defaultStage,
        strict: strict === undefined ? tenant.strict : strict === 'on',
        monthQuota: quota === 'none' ? null : (quota ?? tenant.monthQuota),
        ownQuota: tenant.ownQuota,
        callsPerSecond: rate === 'none' ? null : (rate ?? tenant.callsPerSecond),
      };
      const entry = byCommand(timeOf(context.clock), 'tenant changed', teamId, findChanges(tenant, settings));
      await store.tenants.updateTenant(teamId, { ...settings, name: tenant.name }, entry);
      return viewTenant({ ...tenant, ...settings });
    });
    printAnswer(
      context,
      changed,
      buildTable(Object.entries(changed).map(([name, value]) => [name, formatValue(value)])),
    );
  });
};

const addRestoreCommand: AddCommands = (group, context) => {
  const description = "Restore a tenant's records from a backup. The service can keep running.";
  addCommand(group, 'restore <team>', 'tenant restore acme --from /backups/2026-11-20 --yes', description)
    .requiredOption('--from <folder>', 'the backup')
    .option('--yes', 'do not ask for confirmation')
    .action(async (teamId: string, { from, yes }: { from: string; yes?: true }) => {
      const old = await withEmbeddedStore(context, async (store) => {
        const tenant = await findTenant(store, teamId);
        if (!yes)
          await confirm(tenant, `This discards every change to the records of ${tenant.name} since the backup.`);
        const entry = byCommand(timeOf(context.clock), 'tenant restored', teamId, { from });
        return store.restoreTenant(tenant, from, entry);
      });
      const kept = old === null ? '' : ` Its former file is kept: ${old}. Delete it when you no longer need it.`;
      printAnswer(context, { teamID: teamId, restored: true, formerFile: old }, `Restored ${teamId}.${kept}`);
    });
};

const addRemoveCommand: AddCommands = (group, context) => {
  const description = 'Remove a tenant with its keys, its usage and all its records.';
  addTenantCommand(
    group,
    context,
    'remove <team>',
    'tenant remove acme --yes',
    description,
    async ({ store, teamId, tenant }, { yes }: { yes?: true }) => {
      if (!yes) await confirm(tenant, `This removes ${tenant.name} with its keys, usage and all records.`);
      await store.tenants.deleteTenant(tenant);
      return [
        { removed: true },
        `Removed the tenant ${teamId} and all its data. Backups keep it until they are deleted.`,
      ];
    },
  ).option('--yes', 'do not ask for confirmation');
};

async function confirm({ teamId }: Tenant, what: string) {
  if (!process.stdin.isTTY) throw refuseCommand(`${what} Without a terminal, confirm it with --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`${what} Type ${teamId} to continue: `).catch(() => '');
  terminal.close();
  if (typed.trim() !== teamId) throw refuseCommand('Nothing was changed.');
}

function parseLimit(text: string, form: RegExp, words: string): Limit {
  if (text === 'none') return text;
  if (!form.test(text)) throw new InvalidArgumentError(`It must be ${words}, or none.`);
  return Number(text);
}

const formatValue = (value: string | number | boolean | null) => String(value ?? 'none');

/** Returns the new values of the settings that change, for the audit log. */
function findChanges(before: TenantSettings, after: TenantSettings): Record<string, string> {
  const changed = Object.entries(after).filter(([name, value]) => before[name as keyof TenantSettings] !== value);
  return Object.fromEntries(changed.map(([name, value]) => [name, formatValue(value)]));
}

function viewTenant({ teamId, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond }: Tenant) {
  return { teamID: teamId, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond };
}
