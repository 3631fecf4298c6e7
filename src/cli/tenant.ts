/**
 * `storeroom tenant …`: makes, lists, changes and removes tenants. Keys are issued by keys.ts; the data of a tenant is removed by the store.
 */
import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { Refusal } from '../errors.ts';
import { FIRST_STAGES } from '../pims/lifecycle.ts';
import { byCommand } from '../audit/entry.ts';
import type { Tenant, TenantSettings } from '../tenant/port.ts';
import { checkTeamId, checkTenantName } from '../tenant/tenant.ts';
import { addCommand, addGroup, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { findTenant, withStore } from './data.ts';
import { buildTable } from './table.ts';

type Limit = number | 'none';

interface SetOptions extends AnswerOptions {
  readonly defaultStage?: TenantSettings['defaultStage'];
  readonly strict?: 'on' | 'off';
  readonly quota?: Limit;
  readonly rate?: Limit;
}

export function addTenantCommands(program: Command, context: CommandContext): void {
  const tenant = addGroup(program, 'tenant', {
    summary: 'Make, list, change and remove tenants.',
    example: "tenant create acme --name 'Acme Ltd.'",
  });
  addCreate(tenant, context);
  addList(tenant, context);
  addSet(tenant, context);
  addRemove(tenant, context);
}

function addCreate(group: Command, { environment }: CommandContext): void {
  addCommand(group, 'create <team>', {
    summary: 'Make a tenant. It has no keys yet.',
    example: "tenant create acme --name 'Acme Ltd.'",
  })
    .requiredOption('--name <name>', 'name shown to people')
    .action(async (teamId: string, options: AnswerOptions & { name: string }) => {
      checkTeamId(teamId);
      checkTenantName(options.name);
      const tenant = await withStore(
        environment,
        async (store) => store.tenants.createTenant(teamId, options.name, new Date().toISOString()),
        {
          create: true,
        },
      );
      if (tenant instanceof Refusal) throw tenant;
      answer(
        options,
        viewTenant(tenant),
        `Made the tenant ${teamId}. \`storeroom keys replace ${teamId}\` issues its keys.`,
      );
    });
}

function addList(group: Command, { environment }: CommandContext): void {
  addCommand(group, 'list', { summary: 'List the tenants and their settings.', example: 'tenant list --json' }).action(
    async (options: AnswerOptions) => {
      const tenants = (await withStore(environment, (store) => store.tenants.listTenants())).map(viewTenant);
      const head = ['TEAM', 'NAME', 'MADE', 'DEFAULT STAGE', 'STRICT', 'QUOTA', 'RATE'];
      const rows = tenants.map(({ teamID, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond }) => [
        teamID,
        name,
        createdAt.slice(0, 10),
        defaultStage,
        strict ? 'on' : 'off',
        String(monthQuota ?? 'none'),
        String(callsPerSecond ?? 'none'),
      ]);
      answer(options, { tenants }, tenants.length === 0 ? 'There are no tenants.' : buildTable([head, ...rows]));
    },
  );
}

function addSet(group: Command, { environment }: CommandContext): void {
  const command = addCommand(group, 'set <team>', {
    summary: 'Change settings of a tenant.',
    example: 'tenant set acme --strict on --quota 100000',
  })
    .addOption(new Option('--default-stage <stage>', 'stage of an order that sends none').choices(FIRST_STAGES))
    .addOption(new Option('--strict <on|off>', 'whether codes must exist in their tables').choices(['on', 'off']))
    .option('--quota <calls>', 'calls a calendar month (UTC), or none', (text) =>
      parseLimit(text, /^[1-9]\d{0,14}$/, 'a whole number from 1'),
    )
    .option('--rate <calls>', 'calls a second, or none', (text) =>
      parseLimit(text, /^(?=.*[1-9])\d{1,6}(\.\d{1,3})?$/, 'a number above 0'),
    );
  command.action(async (teamId: string, options: SetOptions) => {
    const { defaultStage, strict, quota, rate } = options;
    if ([defaultStage, strict, quota, rate].every((value) => value === undefined))
      command.error('error: nothing to set: give at least one option');
    const tenant = await withStore(environment, async (store) => {
      const before = await findTenant(store, teamId);
      const settings: TenantSettings = {
        defaultStage: defaultStage ?? before.defaultStage,
        strict: strict === undefined ? before.strict : strict === 'on',
        monthQuota: quota === undefined ? before.monthQuota : toNumber(quota),
        callsPerSecond: rate === undefined ? before.callsPerSecond : toNumber(rate),
      };
      const entry = byCommand(new Date().toISOString(), 'tenant changed', teamId, viewChange(before, settings));
      await store.tenants.updateTenant(teamId, { ...settings, name: before.name }, entry);
      return { ...before, ...settings };
    });
    const view = viewTenant(tenant);
    answer(options, view, buildTable(Object.entries(view).map(([name, value]) => [name, String(value ?? 'none')])));
  });
}

function addRemove(group: Command, { environment }: CommandContext): void {
  addCommand(group, 'remove <team>', {
    summary: 'Remove a tenant with its keys, its usage and all its records.',
    example: 'tenant remove acme --yes',
  })
    .option('--yes', 'do not ask')
    .action(async (teamId: string, options: AnswerOptions & { yes?: true }) => {
      await withStore(environment, async (store) => {
        const tenant = await findTenant(store, teamId);
        if (!options.yes) await confirm(tenant);
        await store.tenants.deleteTenant(tenant);
      });
      answer(options, { teamID: teamId, removed: true }, `Removed the tenant ${teamId} and everything it had.`);
    });
}

async function confirm({ teamId, name }: Tenant): Promise<void> {
  if (!process.stdin.isTTY)
    throw new Refusal(
      'COMMAND_REFUSED',
      `Removing ${teamId} removes all its records. Say so with --yes where nobody can be asked.`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const giveUp = (): string => '';
  const typed = await terminal
    .question(`This removes ${name} with all its records. Type ${teamId} to go on: `)
    .catch(giveUp);
  terminal.close();
  if (typed.trim() !== teamId) throw new Refusal('COMMAND_REFUSED', 'Nothing was removed.');
}

function parseLimit(text: string, form: RegExp, words: string): Limit {
  if (text === 'none') return text;
  if (!form.test(text)) throw new InvalidArgumentError(`It is ${words}, or none.`);
  return Number(text);
}

const toNumber = (limit: Limit): number | null => (limit === 'none' ? null : limit);

/** What is another than it was, for the audit log. */
function viewChange(before: TenantSettings, after: TenantSettings): Record<string, string> {
  const changed = Object.entries(after).filter(([name, value]) => before[name as keyof TenantSettings] !== value);
  return Object.fromEntries(changed.map(([name, value]) => [name, String(value ?? 'none')]));
}

function viewTenant({ teamId, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond }: Tenant) {
  return { teamID: teamId, name, createdAt, defaultStage, strict, monthQuota, callsPerSecond };
}
