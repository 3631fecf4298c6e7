/** Webhooks: lists, adds, tests, pauses, resumes and removes endpoints, replaces secrets and lists deliveries. */
import { mayAct } from '../account/roles.ts';
import { entryBy } from '../audit/audit.ts';
import { listOf, matching, objectOf, oneOf, required, textOf } from '../json-schema.ts';
import { CHANGED_TYPES } from '../pims/changes.ts';
import {
  createWebhook,
  listViews,
  loadDeliveries,
  pauseWebhook,
  removeWebhook,
  replayWebhook,
  rotateSecret,
  testWebhook,
  type WebhookView,
} from '../webhooks/administration.ts';
import { EVENTS, URL_CHARACTERS_MAX } from '../webhooks/webhooks.ts';
import { action, POSITION, withHelp } from './action.ts';
import { SHOWN_ONCE } from './keys.ts';

const id = required();
const ID = objectOf({ id });
const PAGE_DELIVERIES = 50;

const HEAD = ['ID', 'URL', 'TYPES', 'STATE', 'POSITION', 'LAG', 'FAILURES', 'LAST ATTEMPTS', 'NEXT TRY', 'REASON'];
const rowOfWebhook = ({ attempts, ...view }: WebhookView) => {
  const { types, state, position, lag, failures, nextTryAt, reason } = view;
  const last = attempts.map(({ status }) => status ?? 'none').join(' ');
  return [view.id, view.url, types.join(), state, position, lag, failures, last, nextTryAt ?? '', reason ?? ''];
};

export const WEBHOOKS = {
  'POST /webhooks': action({
    about: 'Add a webhook for changes from now on. The secret is shown only here.',
    role: 'developer',
    proof: 'recent',
    takes: objectOf({
      url: textOf(undefined, { maxLength: URL_CHARACTERS_MAX }),
      /** An empty list means all. */
      types: withHelp(
        listOf(oneOf([...CHANGED_TYPES, ...EVENTS])),
        `types of changes, or events such as orders.created, separated by commas (default: ${CHANGED_TYPES.join(',')})`,
        { default: [] },
      ),
    }),
    notes: 'webhook added',
    /** Throws COMMAND_REFUSED for a wrong URL or too many endpoints. */
    run: createWebhook,
    command: 'webhook add <team> <url>',
    example: '--types orders,customers',
    show: ({ teamID, id: of, secret }) => [{ teamID, id: of, secret }, SHOWN_ONCE],
  }),
  'GET /webhooks': action({
    about: 'List the webhooks, without secrets. LAST ATTEMPTS are the statuses of the last answers, newest first.',
    role: 'viewer',
    run: async (context) => ({ webhooks: await listViews(context, mayAct(context.role, 'developer')) }),
    command: 'webhook list <team>',
    show: ({ teamID, webhooks }) => [
      webhooks.length === 0 ? `${teamID} has no webhooks.` : [HEAD, ...webhooks.map(rowOfWebhook)],
    ],
  }),
  'POST /webhooks/test': action({
    about: 'Send a message of the type `test` to a webhook.',
    role: 'developer',
    proof: 'none',
    takes: ID,
    notes: 'webhook tested',
    /** Waits for the response of the receiver. */
    run: testWebhook,
    command: 'webhook test <team> <id>',
    show: ({ status, error, durationMs }) => [error ?? `The receiver answered ${status} in ${durationMs} ms.`],
    hasFailed: ({ error }) => error !== null,
  }),
  'POST /webhooks/replay': action({
    about: 'Resume the deliveries of a webhook at once, even if it is paused.',
    role: 'developer',
    proof: 'none',
    takes: objectOf(
      { id },
      {
        after: withHelp(
          matching('^[0-9]{1,15}$'),
          'deliver again everything after the change with this number (default: the last delivered one)',
          { title: 'after <seq>', $comment: 'be the number of a change' },
        ),
      },
    ),
    notes: 'webhook replayed',
    /** Throws COMMAND_REFUSED and CHANGES_GONE. */
    run: replayWebhook,
    command: 'webhook replay <team> <id>',
    example: '--after 1024',
    json: ({ after = null }) => ({ after }),
    show: ({ after }) => [
      `Deliveries continue after ${after === undefined ? 'the last delivered change' : `change ${after}`}.`,
    ],
  }),
  'POST /webhooks/rotate': action({
    about: 'Replace the secret of a webhook. The old one also signs for 24 hours. The new one is shown only here.',
    role: 'developer',
    proof: 'recent',
    takes: ID,
    notes: 'webhook secret replaced',
    run: rotateSecret,
    command: 'webhook rotate <team> <id>',
    show: ({ oldSecretEndsAt }, printed) => [printed, `${SHOWN_ONCE} Both secrets sign until ${oldSecretEndsAt}.`],
  }),
  'webhook rotate-key': action({
    about:
      'Replace the key that encrypts the webhook secrets of all tenants. The secrets stay the same. After a leak, also `rotate` each webhook.',
    notes: 'webhook key replaced',
    run: async ({ webhooks, actor }) => ({
      webhooks: await webhooks.replaceSealingKey(entryBy(actor, 'webhook key replaced', '')),
    }),
    command: 'webhook rotate-key',
    show: ({ webhooks }) => [`Replaced the key that encrypts the secrets (webhooks: ${webhooks}).`],
  }),
  'POST /webhooks/pause': action({
    about: 'Stop deliveries to a webhook. `replay` continues them.',
    role: 'developer',
    proof: 'none',
    takes: ID,
    notes: 'webhook paused',
    run: pauseWebhook,
    command: 'webhook pause <team> <id>',
    show: (given) => [`Paused ${given.id}.`],
  }),
  'POST /webhooks/remove': action({
    about: 'Remove a webhook with its deliveries.',
    role: 'developer',
    proof: 'recent',
    takes: ID,
    notes: 'webhook removed',
    run: removeWebhook,
    command: 'webhook remove <team> <id>',
    show: (given) => [`Removed ${given.id}.`],
  }),
  'GET /webhooks/deliveries': action({
    about: 'List the deliveries of the last 30 days, newest first.',
    role: 'viewer',
    takes: objectOf({ id }, { before: POSITION }),
    run: async (context, { id: of, before = Number.MAX_SAFE_INTEGER }) => {
      const found = await loadDeliveries(context, of, Number(before), PAGE_DELIVERIES + 1);
      const deliveries = found.slice(0, PAGE_DELIVERIES).map((one) => ({ ...one, number: String(one.number) }));
      return { deliveries, next: found.length > PAGE_DELIVERIES ? deliveries.at(-1)!.number : null };
    },
  }),
};
