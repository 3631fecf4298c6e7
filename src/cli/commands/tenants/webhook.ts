/** `storeroom webhook …`: adds, lists, tests, pauses and removes a tenant's webhooks. It prints a secret once. */
import { Option, type Command } from 'commander';
import type { Actor } from '../../../audit/entry.ts';
import { parseConfig } from '../../../config.ts';
import { CHANGED_TYPES } from '../../../pims/changes.ts';
import type { Tenant } from '../../../tenant/tenant-port.ts';
import { Webhooks } from '../../../webhooks/administration.ts';
import { addCommand, addGroup, byOperator, printAnswer, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

const SHOWN_ONCE = 'The secret is not shown again.';

type WebhookWork<T> = (webhooks: Webhooks, tenant: Tenant, actor: Actor) => Promise<T>;

/** Opens the webhooks of a tenant for one command. */
const withWebhooks = <T>(context: CommandContext, teamId: string, work: WebhookWork<T>): Promise<T> =>
  withTenant(context, teamId, ({ store, tenant }) => {
    const { clock, environment } = context;
    const isPrivateAllowed = parseConfig(environment, {}).config.webhookPrivate === 'on';
    const { webhooks } = store;
    const services = { webhooks, pims: (of: Tenant) => store.pims(of), clock, isPrivateAllowed };
    return work(new Webhooks(services), tenant, byOperator(clock.now()));
  });

export function addWebhookCommands(program: Command, context: CommandContext): void {
  const description = "Add, list, test, pause, replay and remove a tenant's webhooks, which receive every change.";
  const group = addGroup(program, 'webhook', 'webhook add acme https://shop.example.com/hooks', description);
  addAddCommand(group, context);
  addListCommand(group, context);
  addTestCommand(group, context);
  addReplayCommand(group, context);
  addRotateCommand(group, context);
  const simple = (name: 'remove' | 'pause', done: string, explained: string): void =>
    void addCommand(group, `${name} <team> <id>`, `webhook ${name} acme wh_2f0c6a91b35d7e8f40`, explained).action(
      async (teamID: string, id: string) => {
        await withWebhooks(context, teamID, (webhooks, tenant, actor) => webhooks[name](tenant, id, actor));
        printAnswer(context, { teamID, id }, `${done} ${id}.`);
      },
    );
  simple('pause', 'Paused', 'Stop deliveries to a webhook. `replay` continues them.');
  simple('remove', 'Removed', 'Remove a webhook with its deliveries.');
}

function addAddCommand(group: Command, context: CommandContext): void {
  const example = 'webhook add acme https://shop.example.com/hooks --types orders,customers';
  addCommand(
    group,
    'add <team> <url>',
    example,
    'Add a webhook for changes from now on. The secret is shown only here.',
  )
    .addOption(
      new Option('--types <types>', `types of changes, separated by commas (default: ${CHANGED_TYPES.join(',')})`),
    )
    .action(async (teamID: string, url: string, { types = '' }: { types?: string }) => {
      const words = types === '' ? [] : types.split(',');
      const added = await withWebhooks(context, teamID, (webhooks, tenant, actor) =>
        webhooks.add(tenant, url, words, actor),
      );
      printSecret(context, { teamID, ...added }, SHOWN_ONCE);
    });
}

function addListCommand(group: Command, context: CommandContext): void {
  addCommand(group, 'list <team>', 'webhook list acme', 'List the webhooks, without secrets.').action(
    async (teamID: string) => {
      const webhooks = await withWebhooks(context, teamID, (all, tenant) => all.list(tenant));
      const head = ['ID', 'URL', 'TYPES', 'STATE', 'POSITION', 'LAG', 'FAILURES', 'NEXT TRY', 'REASON'];
      const rows = webhooks.map(({ id, url, types, state, position, lag, failures, nextTryAt, reason }) =>
        [id, url, types.join(','), state, position, lag, failures, nextTryAt ?? '', reason ?? ''].map(String),
      );
      const text = webhooks.length === 0 ? `${teamID} has no webhooks.` : buildTable([head, ...rows]);
      printAnswer(context, { teamID, webhooks }, text);
    },
  );
}

function addTestCommand(group: Command, context: CommandContext): void {
  const description = 'Send a message of the type `test` to a webhook.';
  addCommand(group, 'test <team> <id>', 'webhook test acme wh_2f0c6a91b35d7e8f40', description).action(
    async (teamID: string, id: string) => {
      const result = await withWebhooks(context, teamID, (webhooks, tenant) => webhooks.test(tenant, id));
      const { status, error, durationMs } = result;
      if (error !== null) context.exitCode = 1;
      printAnswer(context, { teamID, id, ...result }, error ?? `The receiver answered ${status} in ${durationMs} ms.`);
    },
  );
}

function addReplayCommand(group: Command, context: CommandContext): void {
  const description = 'Continue the deliveries of a webhook at once, also of a paused one.';
  addCommand(group, 'replay <team> <id>', 'webhook replay acme wh_2f0c6a91b35d7e8f40 --after 1024', description)
    .option('--after <seq>', 'deliver again everything after the change with this number (default: where it stood)')
    .action(async (teamID: string, id: string, { after }: { after?: string }) => {
      await withWebhooks(context, teamID, (webhooks, tenant, actor) => webhooks.replay(tenant, id, after, actor));
      const from = after === undefined ? 'where it stood' : `change ${after}`;
      printAnswer(context, { teamID, id, after: after ?? null }, `${id} continues from ${from}.`);
    });
}

function addRotateCommand(group: Command, context: CommandContext): void {
  const description =
    'Replace the secret of a webhook. Both secrets sign for 24 hours. The new one is shown only here.';
  addCommand(group, 'rotate <team> <id>', 'webhook rotate acme wh_2f0c6a91b35d7e8f40', description).action(
    async (teamID: string, id: string) => {
      const rotated = await withWebhooks(context, teamID, (webhooks, tenant, actor) =>
        webhooks.rotate(tenant, id, actor),
      );
      const end = `The old secret signs too until ${rotated.oldSecretEndsAt}.`;
      printSecret(context, { teamID, id, ...rotated }, `${SHOWN_ONCE} ${end}`);
    },
  );
}

const printSecret = (context: CommandContext, answer: Record<string, string>, note: string): void =>
  printAnswer(context, answer, `${buildTable(Object.entries(answer))}\n\n${note}`);
