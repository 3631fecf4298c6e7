/**
 * Adds the actions of administration as commands. Words, options and their rules come from the schema of what an action
 * takes, and the text without --json from its answer.
 */
import { createInterface } from 'node:readline/promises';
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { Action, ActionContext, ShownPart } from '../../administration/action.ts';
import { ACTIONS } from '../../administration/actions.ts';
import { byOperator, entryBy } from '../../audit/audit.ts';
import { DAY_MS, formatTime } from '../../clock.ts';
import { parseConfig } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { RequestLog } from '../../request-log/request-log.ts';
import type { Store } from '../../store/open-store.ts';
import { RejectedCalls } from '../../tenant/credentials.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import {
  addCommand,
  addGroup,
  buildTable,
  parseForm,
  parseNumber,
  printable,
  printAnswer,
  type AddCommands,
  type CommandContext,
  type NumberSchema,
} from '../command.ts';
import { findTenant, isGivenEmpty, parseEmbeddedConfig, withStore, type EmbeddedStore } from '../open-store.ts';
import { findOrigin } from '../service-address.ts';

const SAMPLES: Readonly<Record<string, string>> = {
  team: 'acme',
  teamID: 'acme',
  email: 'ann@example.com',
  apiID: 'sr_id_2VwWy7hmf0nqTzrTUpGSWk',
  id: 'wh_2f0c6a91b35d7e8f40',
  url: 'https://shop.example.com/hooks',
  recordType: 'orders',
  name: 'GIFT_WRAP',
  orderNumber: '10001',
  returnOf: '10001',
  partCode: '42',
  quantity: '10',
};
/** A word of a command, or one that can be left out. */
const WORD = /<(\w+)>|\[(\w+)\]/g;

/** Returns the function that adds the actions whose command begins with a word, as a group if it has a description. */
export const addActions =
  (word: string, description?: string): AddCommands =>
  (program, context) => {
    const own = Object.values<Action>(ACTIONS).filter(({ command }) => command?.split(' ')[0] === word);
    const group = description === undefined ? program : addGroup(program, word, exampleOf(own[0]!), description);
    for (const action of own)
      if (!action.command!.includes(' --'))
        addAction(
          group,
          context,
          action,
          own.find(({ command }) => command!.startsWith(`${action.command} --`)),
        );
  };

const exampleOf = ({ command, example = '' }: Action) =>
  `${command!.replace(/ \[.*/, '').replace(WORD, (_, word: string) => SAMPLES[word]!)} ${example}`.trimEnd();

interface ValueSchema extends Partial<NumberSchema> {
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly items?: ValueSchema;
  readonly uniqueItems?: true;
  readonly $comment?: string;
}
type ObjectSchema = {
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
};

/** Adds an action as a command. `other` is the action that an option of the command chooses instead. */
function addAction(group: Command, context: CommandContext, action: Action, other: Action | undefined): void {
  const { about, takes = {}, confirm, runWhole } = action;
  const { properties = {}, required = [], minProperties = 0 } = (runWhole ? {} : takes) as ObjectSchema;
  const [verb = '', ...places] = action.command!.slice(group.parent ? group.name().length + 1 : 0).split(' ');
  const words = places.map((place) => place.slice(1, -1));
  const options = Object.entries(properties)
    .filter(([name]) => !words.includes(name))
    .map(([name, schema]) => ({ name, schema, option: optionOf(name, schema, required.includes(name)) }));
  const command = addCommand(group, verb, exampleOf(action), about);
  for (const place of places) {
    const { title, description, enum: choices } = properties[place.slice(1, -1)] ?? {};
    const argument = new Argument(title === undefined ? place : place.replace(/\w+/, title), description);
    command.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const { option } of options) command.addOption(option);
  if (confirm) command.option('--yes', 'do not ask for confirmation');
  const [, flag = '', member = ''] = / --(\w+) <(\w+)>/.exec(other?.command ?? '') ?? [];
  if (other)
    command.addOption(
      optionOf(flag, { ...(other.takes as ObjectSchema).properties![member], description: other.about }, false),
    );
  command.action(async (...typed: unknown[]) => {
    const { team, ...named } = Object.fromEntries(
      words.map((word, at) => [word, typed[at] as string]).filter(([, word]) => word !== undefined),
    ) as Record<string, string>;
    const chosen = typed[words.length] as Record<string, unknown>;
    const asked = { team, named, isConfirmed: chosen['yes'] === true };
    if (other && chosen[flag] !== undefined)
      return runAction(context, other, { ...asked, given: { [member]: chosen[flag] } });
    const values = options.map(({ name, schema, option }) => {
      const { [option.attributeName()]: value = schema.default } = chosen;
      return [name, value === 'none' && schema.minimum !== undefined ? null : value];
    });
    const given = Object.fromEntries(values.filter(([, value]) => value !== undefined));
    if (Object.keys(given).length < minProperties) command.error('error: nothing to set: give at least one option');
    await runAction(context, action, { ...asked, given });
  });
}

/** Returns the option of a value. */
function optionOf(name: string, schema: ValueSchema, isRequired: boolean): Option {
  const { type, description, default: fallback, items, $comment } = schema;
  const { title = type === 'boolean' ? name : `${name} <${name}>` } = schema;
  const flags = title.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const told = typeof fallback === 'string' ? `${description} (default: ${fallback})` : description;
  const option = new Option(`--${flags}`, told).makeOptionMandatory(isRequired && fallback === undefined);
  if (schema.enum) return option.choices(schema.enum);
  if (schema.minimum !== undefined) return option.argParser(parseNumber(schema as NumberSchema));
  const check = $comment ? parseForm(new RegExp((items ?? schema).pattern!), $comment) : (text: string) => text;
  if (!items) return $comment ? option.argParser(check) : option;
  return option.argParser((text, before?: readonly string[]) => collect(schema, check(text), before ?? []));
}

/** Adds what an option gives to a list: a pair such as `1=2`, of which each name stands once, or a list with commas. */
function collect({ uniqueItems, $comment }: ValueSchema, text: string, before: readonly string[]): readonly string[] {
  const start = text.replace(/=.*/s, '=');
  if (uniqueItems && before.some((pair) => pair.startsWith(start)))
    throw new InvalidArgumentError(`${start.slice(0, -1)} was given twice. Give it once.`);
  return [...before, ...($comment ? [text] : text.split(','))];
}

interface Typed {
  readonly team: string | undefined;
  readonly named: Readonly<Record<string, string>>;
  readonly given: Readonly<Record<string, unknown>>;
  readonly isConfirmed: boolean;
}

async function runAction(context: CommandContext, action: Action, { team, named, given, isConfirmed }: Typed) {
  const { environment } = context;
  const { check, confirm, hasFailed, json = (told: object) => told, show = showAll } = action;
  check?.({ ...named, ...given } as never);
  if (action.isEmbedded) parseEmbeddedConfig(environment);
  const create = 'create' in given || (action.command === 'tenant create <teamID>' && isGivenEmpty(environment));
  const answer = await withStore(
    context,
    async (store) => {
      const tenant = team === undefined ? undefined : await findTenant(store, team);
      if (confirm && !isConfirmed) await askFor(confirm(tenant!), tenant!.teamId);
      const own = await contextOf(store, context, tenant, team);
      const done = action.runWhole ? action.runWhole(own) : action.run(own, { ...named, ...given } as never);
      return (await done) as object | undefined;
    },
    { create },
  );
  const teamID = team === undefined ? {} : { teamID: team };
  const told = { ...teamID, ...named, ...given, ...answer };
  const printed = { ...teamID, ...named, ...(action.json ? json(told as never) : answer) };
  if (hasFailed?.(answer as never)) context.exitCode = 1;
  const parts = show(told as never, printed).map((part) => {
    // A heading stands directly above its table.
    const isHeading = typeof part === 'string' && part.endsWith(':');
    return { text: layOut(part), gap: isHeading ? '\n' : '\n\n' };
  });
  const shown = parts.filter(({ text }) => text !== '');
  printAnswer(context, printed, shown.map(({ text, gap }, at) => (at < shown.length - 1 ? text + gap : text)).join(''));
}

async function askFor(what: string, team: string) {
  if (!process.stdin.isTTY) throw refuseCommand(`${what} Without a terminal, confirm it with --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`${what} Type ${team} to continue: `).catch(() => '');
  terminal.close();
  if (typed.trim() !== team) throw refuseCommand('Nothing was changed.');
}

/** Returns the context of an action. One on the service, or on all tenants, uses no tenant. */
async function contextOf(
  store: Store,
  { environment, clock }: CommandContext,
  tenant: Tenant | undefined,
  teamId = '',
): Promise<ActionContext> {
  const { config } = parseConfig(environment);
  const actor = byOperator(clock.now());
  const now = formatTime(actor.nowMs);
  let hasChanged = true;
  const { tenants, users, audit, usage, requests, webhooks, installation, placement } = store;
  // The service that sends decides whether private addresses are allowed, and not the environment of the command.
  const isPrivateAllowed = ((await installation.loadInstalled('webhookPrivate')) ?? config.webhookPrivate) === 'on';
  return {
    tenant: tenant!,
    teamId,
    role: 'owner',
    actor,
    // The file is opened only when it is used, so that commands about the tenant itself work while the file is lost.
    openPims: () => store.pims(tenant!),
    writeOptions: {
      now,
      by: actor.actor,
      strict: tenant?.strict ?? false,
      report: ({ isUnchanged }) => void (hasChanged = !isUnchanged),
    },
    note: async (...entry) => {
      if (hasChanged) await audit.appendAudit(teamId, entryBy(actor, ...entry));
    },
    signal: () => new AbortController().signal,
    placeOf: () => ({}) as ReturnType<ActionContext['placeOf']>,
    clock,
    tenants,
    users,
    audit,
    usage,
    requests,
    placement,
    logCounts: { loadKeyUses: async () => [], loadRefusals: async () => [] },
    // A command finds every request that the store still has.
    requestLog: new RequestLog(requests, { ...config, requestLogDays: Math.floor(actor.nowMs / DAY_MS), clock }),
    requestLogDays: config.requestLogDays,
    rejectedCalls: new RejectedCalls(),
    webhooks,
    isPrivateAllowed,
    publicUrl: config.publicUrl || ((await installation.loadInstalled('origin')) ?? findOrigin(config)),
    restoreTenant: (...asked) => (store as EmbeddedStore).restoreTenant(...asked),
  };
}

const showAll = (_: never, printed: object): ShownPart[] => [printed];

/** Lays out a sentence without control characters, rows as a table, and an object with its members below one another. */
function layOut(part: ShownPart): string {
  if (typeof part === 'string') return part.split('\n').map(printable).join('\n');
  return buildTable(
    Array.isArray(part) ? part : Object.entries(part).map(([name, value]) => [name, tell(name, value)]),
  );
}

function tell(name: string, value: unknown): string {
  const shown = value ?? (name.endsWith('At') ? 'never' : 'none');
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}
