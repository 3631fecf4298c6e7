/**
 * Adds the actions of administration as commands. Words, options and their rules come from the schema of what an action
 * takes, and the text without --json from its answer.
 */
import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Action, ActionServices, ShownPart } from '../../administration/action.ts';
import { ACTIONS } from '../../administration/actions.ts';
import { parseConfig } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { RequestLog } from '../../request-log/request-log.ts';
import type { Store } from '../../store/open-store.ts';
import { RejectedCalls } from '../../tenant/credentials.ts';
import { Webhooks } from '../../webhooks/administration.ts';
import {
  addCommand,
  addGroup,
  buildTable,
  byOperator,
  parseForm,
  printAnswer,
  type AddCommands,
  type CommandContext,
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
};

/** Returns the function that adds the actions whose command begins with a word, as a group if it has a description. */
export const addActions =
  (word: string, description?: string): AddCommands =>
  (program, context) => {
    const own = Object.values<Action>(ACTIONS).filter(({ command }) => command?.split(' ')[0] === word);
    const group = description === undefined ? program : addGroup(program, word, exampleOf(own[0]!), description);
    for (const action of own) addAction(group, context, action);
  };

const exampleOf = ({ command, example = '' }: Action) =>
  `${command!.replace(/<(\w+)>/g, (_, word: string) => SAMPLES[word]!)} ${example}`.trimEnd();

interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly $comment?: string;
}
type ObjectSchema = {
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
};

function addAction(group: Command, context: CommandContext, action: Action): void {
  const { about, takes = {}, confirm } = action;
  const { properties = {}, required = [], minProperties = 0 } = takes as ObjectSchema;
  const form = action.command!.slice(group.parent ? group.name().length + 1 : 0);
  const words = [...form.matchAll(/<(\w+)>/g)].map(([, word]) => word!);
  const options = Object.entries(properties)
    .filter(([name]) => !words.includes(name))
    .map(([name, schema]) => ({ name, schema, option: optionOf(name, schema, required.includes(name)) }));
  const command = addCommand(group, form.replace('teamID', 'team'), exampleOf(action), about);
  for (const { option } of options) command.addOption(option);
  if (confirm) command.option('--yes', 'do not ask for confirmation');
  command.action(async (...typed: unknown[]) => {
    const { team, ...named } = Object.fromEntries(words.map((word, at) => [word, typed[at] as string]));
    const chosen = typed[words.length] as Record<string, unknown>;
    const values = options.map(({ name, schema, option }) => [name, valueOf(schema, chosen[option.attributeName()])]);
    const given = Object.fromEntries(values.filter(([, value]) => value !== undefined));
    if (Object.keys(given).length < minProperties) command.error('error: nothing to set: give at least one option');
    await runAction(context, action, { team, named, given, isConfirmed: chosen['yes'] === true });
  });
}

/** Returns the option of a value. */
function optionOf(name: string, schema: ValueSchema, isRequired: boolean): Option {
  const { type, title = `${name} <${name}>`, description, default: fallback, $comment } = schema;
  if (type === 'boolean') return new Option(`--${name}`, description);
  const flags = title.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const told = typeof fallback === 'string' ? `${description} (default: ${fallback})` : description;
  const option = new Option(`--${flags}`, told).makeOptionMandatory(isRequired && fallback === undefined);
  if (schema.enum) return option.choices(schema.enum);
  if (schema.minimum !== undefined) return option.argParser((text) => checkNumber(schema, text));
  return $comment ? option.argParser(parseForm(new RegExp(schema.pattern!), $comment)) : option;
}

function checkNumber({ type, minimum = 0, maximum = 0 }: ValueSchema, text: string): string {
  const [form, what] = type!.includes('integer') ? [/^\d+$/, 'whole number'] : [/^\d+(\.\d{1,3})?$/, 'number'];
  const mayBeNone = Array.isArray(type);
  const isGood = form.test(text) && Number(text) >= minimum && Number(text) <= maximum;
  if (isGood || (mayBeNone && text === 'none')) return text;
  throw new InvalidArgumentError(`It must be a ${what} from ${minimum} to ${maximum}${mayBeNone ? ', or none' : ''}.`);
}

function valueOf({ type, minimum, default: fallback }: ValueSchema, text: unknown): unknown {
  if (text === undefined) return fallback;
  if (type === 'array') return (text as string).split(',');
  if (minimum === undefined) return text;
  return text === 'none' ? null : Number(text);
}

interface Typed {
  readonly team: string | undefined;
  readonly named: Readonly<Record<string, string>>;
  readonly given: Readonly<Record<string, unknown>>;
  readonly isConfirmed: boolean;
}

async function runAction(context: CommandContext, action: Action, { team, named, given, isConfirmed }: Typed) {
  const { clock, environment } = context;
  const { check, confirm, hasFailed, json = (told: object) => told, show = showAll } = action;
  check?.({ ...named, ...given } as never);
  if (action.isEmbedded) parseEmbeddedConfig(environment);
  const create = 'create' in given || (action.command === 'tenant create <teamID>' && isGivenEmpty(environment));
  const answer = await withStore(
    context,
    async (store) => {
      const tenant = team === undefined ? undefined : await findTenant(store, team);
      if (confirm && !isConfirmed) await askFor(confirm(tenant!), tenant!.teamId);
      const services = await servicesOf(store, context);
      const own = { tenant: tenant!, teamId: team!, role: 'owner', actor: byOperator(clock.now()) } as const;
      return (await action.run({ ...services, ...own }, { ...named, ...given } as never)) as object | undefined;
    },
    { create },
  );
  const teamID = team === undefined ? {} : { teamID: team };
  const told = { ...teamID, ...named, ...given, ...answer };
  const printed = { ...teamID, ...named, ...(action.json ? json(told as never) : answer) };
  if (hasFailed?.(answer as never)) context.exitCode = 1;
  printAnswer(
    context,
    printed,
    show(told as never, printed)
      .map(layOut)
      .filter((text) => text !== '')
      .join('\n\n'),
  );
}

async function askFor(what: string, team: string) {
  if (!process.stdin.isTTY) throw refuseCommand(`${what} Without a terminal, confirm it with --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`${what} Type ${team} to continue: `).catch(() => '');
  terminal.close();
  if (typed.trim() !== team) throw refuseCommand('Nothing was changed.');
}

async function servicesOf(store: Store, { environment, clock }: CommandContext): Promise<ActionServices> {
  const { config } = parseConfig(environment);
  const { tenants, users, audit, usage, requests, installation, placement } = store;
  // The service that sends decides whether private addresses are allowed, and not the environment of the command.
  const isPrivateAllowed = ((await installation.loadInstalled('webhookPrivate')) ?? config.webhookPrivate) === 'on';
  return {
    clock,
    tenants,
    users,
    audit,
    usage,
    requests,
    placement,
    logCounts: { loadKeyUses: async () => [], loadRefusals: async () => [] },
    requestLog: new RequestLog(requests, { ...config, clock }),
    requestLogDays: config.requestLogDays,
    rejectedCalls: new RejectedCalls(),
    webhooks: new Webhooks({
      webhooks: store.webhooks,
      audit,
      pims: (tenant) => store.pims(tenant),
      clock,
      isPrivateAllowed,
    }),
    publicUrl: config.publicUrl || ((await installation.loadInstalled('origin')) ?? findOrigin(config)),
    restoreTenant: (...asked) => (store as EmbeddedStore).restoreTenant(...asked),
  };
}

const showAll = (_: never, printed: object): ShownPart[] => [printed];

/** Lays out a sentence unchanged, rows as a table, and an object with its members below one another. */
function layOut(part: ShownPart): string {
  if (typeof part === 'string') return part;
  return buildTable(
    Array.isArray(part) ? part : Object.entries(part).map(([name, value]) => [name, tell(name, value)]),
  );
}

const tell = (name: string, value: string | number | null) => String(value ?? (name.endsWith('At') ? 'never' : 'none'));
