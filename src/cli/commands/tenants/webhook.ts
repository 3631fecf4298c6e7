/** `storeroom webhook …`: manages a tenant's webhooks and their secrets. Prints each secret once. */
import type { Command } from 'commander';
import { byCommand, type Actor } from '../../../audit/audit.ts';
import { parseConfig } from '../../../config.ts';
import { CHANGED_TYPES } from '../../../pims/changes.ts';
import type { Store } from '../../../store/open-store.ts';
import type { Tenant } from '../../../tenant/tenant-port.ts';
import { Webhooks, type WebhookView } from '../../../webhooks/administration.ts';
import {
  addCommand,
  addGroup,
  buildTable,
  byOperator,
  printAnswer,
  timeOf,
  type AddCommands,
  type CommandContext,
} from '../../command.ts';
import { addTenantCommand, withStore } from '../../open-store.ts';

interface Given {
  readonly tenant: Tenant;
  readonly actor: Actor;
  /** The second argument of the command. */
  readonly word: string;
  readonly options: { readonly types?: string; readonly after?: string };
}

/** A command: its arguments, an example of them, its description, its work and the text of its result. */
type CommandRow<T extends object> = [
  form: string,
  example: string,
  description: string,
  work: (webhooks: Webhooks, given: Given) => Promise<T>,
  tell: (answer: T & { readonly teamID: string }) => string,
];

const ID = 'wh_2f0c6a91b35d7e8f40';
const DESCRIPTION = "Add, list, test, pause, replay and remove a tenant's webhooks, which receive every change.";
const SHOWN_ONCE = 'The secret is not shown again.';
const HEAD = ['ID', 'URL', 'TYPES', 'STATE', 'POSITION', 'LAG', 'FAILURES', 'LAST ATTEMPTS', 'NEXT TRY', 'REASON'];

const ROTATE_KEY_HELP =
  'Replace the key with which the store encrypts the secrets of all tenants. The secrets stay the same. After a leak, ' +
  'also run `rotate` for each webhook.';

const addKeyCommand: AddCommands = (group, context) => {
  addCommand(group, 'rotate-key', 'webhook rotate-key', ROTATE_KEY_HELP).action(async () => {
    const entry = byCommand(timeOf(context.clock), 'webhook key replaced', '');
    const webhooks = await withStore(context, (store) => store.webhooks.replaceSealingKey(entry));
    printAnswer(context, { webhooks }, `Replaced the key that encrypts the secrets (webhooks: ${webhooks}).`);
  });
};

const rowOf = ({ attempts, ...view }: WebhookView): string[] => {
  const { id, url, types, state, position, lag, failures, nextTryAt, reason } = view;
  const last = attempts.map(({ status }) => status ?? 'none').join(' ');
  return [id, url, types.join(','), state, position, lag, failures, last, nextTryAt ?? '', reason ?? ''].map(String);
};

/** Returns whether private addresses are allowed. The service that sends decides, and not the command's environment. */
async function mayBePrivate({ installation }: Store, { environment }: CommandContext): Promise<boolean> {
  const setting = await installation.load('webhookPrivate');
  return (setting ?? parseConfig(environment).config.webhookPrivate) === 'on';
}

export const addWebhookCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'webhook', 'webhook add acme https://shop.example.com/hooks', DESCRIPTION);
  const add = <T extends object>(...[form, example, explained, work, tell]: CommandRow<T>): Command =>
    addTenantCommand(
      group,
      context,
      form,
      `webhook ${example}`,
      explained,
      async ({ store, teamId: teamID, tenant }, word: string, options: Given['options']) => {
        const { clock } = context;
        const { webhooks, audit } = store;
        const isPrivateAllowed = await mayBePrivate(store, context);
        const services = { webhooks, audit, pims: (of: Tenant) => store.pims(of), clock, isPrivateAllowed };
        const done = await work(new Webhooks(services), { tenant, actor: byOperator(clock.now()), word, options });
        return [done, tell({ teamID, ...done })];
      },
    );
  add(
    'add <team> <url>',
    'add acme https://shop.example.com/hooks --types orders,customers',
    'Add a webhook for changes from now on. The secret is shown only here.',
    (webhooks, { tenant, actor, word, options: { types } }) =>
      webhooks.add(tenant, word, types ? types.split(',') : [], actor),
    (added) => `${buildTable(Object.entries(added))}\n\n${SHOWN_ONCE}`,
  ).option(
    '--types <types>',
    `types of changes, or events such as orders.created, separated by commas (default: ${CHANGED_TYPES.join(',')})`,
  );
  add(
    'list <team>',
    'list acme',
    'List the webhooks, without secrets. LAST ATTEMPTS are the statuses of the last answers, newest first.',
    async (webhooks, { tenant }) => ({ webhooks: await webhooks.list(tenant) }),
    ({ teamID, webhooks }) =>
      webhooks.length === 0 ? `${teamID} has no webhooks.` : buildTable([HEAD, ...webhooks.map(rowOf)]),
  );
  add(
    'test <team> <id>',
    `test acme ${ID}`,
    'Send a message of the type `test` to a webhook.',
    async (webhooks, { tenant, word: id, actor }) => ({ id, ...(await webhooks.test(tenant, id, actor)) }),
    ({ status, error, durationMs }) => {
      if (error !== null) context.exitCode = 1;
      return error ?? `The receiver answered ${status} in ${durationMs} ms.`;
    },
  );
  add(
    'replay <team> <id>',
    `replay acme ${ID} --after 1024`,
    'Resume the deliveries of a webhook at once, even if it is paused.',
    async (webhooks, { tenant, word: id, options: { after = null }, actor }) => {
      await webhooks.replay(tenant, id, after ?? undefined, actor);
      return { id, after };
    },
    ({ after }) => `Deliveries continue after ${after === null ? 'the last delivered change' : `change ${after}`}.`,
  ).option(
    '--after <seq>',
    'deliver again everything after the change with this number (default: the last delivered one)',
  );
  add(
    'rotate <team> <id>',
    `rotate acme ${ID}`,
    'Replace the secret of a webhook. The replaced one also signs for 24 hours. The new one is shown only here.',
    async (webhooks, { tenant, word: id, actor }) => ({ id, ...(await webhooks.rotate(tenant, id, actor)) }),
    (rotated) =>
      `${buildTable(Object.entries(rotated))}\n\n${SHOWN_ONCE} Both secrets sign until ${rotated.oldSecretEndsAt}.`,
  );
  const addSimple = (name: 'pause' | 'remove', done: string, explained: string): Command =>
    add(
      `${name} <team> <id>`,
      `${name} acme ${ID}`,
      explained,
      (webhooks, { tenant, word: id, actor }) => webhooks[name](tenant, id, actor).then(() => ({ id })),
      ({ id }) => `${done} ${id}.`,
    );
  addKeyCommand(group, context);
  addSimple('pause', 'Paused', 'Stop deliveries to a webhook. `replay` continues them.');
  addSimple('remove', 'Removed', 'Remove a webhook with its deliveries.');
};
