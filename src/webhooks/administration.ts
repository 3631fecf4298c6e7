/** The changes that people make to the endpoints of a tenant, from the dashboard and from the command line. */
import { randomBytes } from 'node:crypto';
import { entryBy, type Actor, type AuditStore } from '../audit/audit.ts';
import { DAY_MS, formatTime, type Clock } from '../clock.ts';
import { orThrow, refuseField, refuseForNow } from '../errors.ts';
import { CHANGED_TYPES, listChanges } from '../pims/changes.ts';
import type { PimsStore } from '../pims/pims-port.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { newSecret, Poster, testMessage } from './poster.ts';
import { checkTypes, checkUrl, DELIVERY_DAYS, endOfOldSecret } from './webhooks.ts';
import type { Delivery, Webhook, WebhookChange, WebhookStore } from './webhooks-port.ts';

export interface WebhookServices {
  readonly webhooks: WebhookStore;
  readonly audit: AuditStore;
  readonly pims: (tenant: Tenant) => PimsStore | Promise<PimsStore>;
  readonly clock: Clock;
  readonly isPrivateAllowed: boolean;
}

/** Who changes the endpoints of which tenant. */
interface EndpointContext extends Omit<WebhookServices, 'pims'> {
  readonly openPims: () => PimsStore | Promise<PimsStore>;
  readonly teamId: string;
  readonly actor: Actor;
}
interface GivenEndpoint {
  readonly id: string;
}

/** An endpoint without its secrets. */
export type WebhookView = Awaited<ReturnType<typeof listViews>>[number];

/** Returns a URL without its query, which often contains a token. */
const hideQuery = (url: string): string => url.replace(/\?.*/s, '?…');

/** Number of attempts that a list shows for each endpoint. */
const ATTEMPTS_LISTED = 5;
/** Maximum endpoints of a tenant that are tested at a time. */
const TESTS_MAX = 3;
const TESTS_RUN = `A test of this webhook, or ${TESTS_MAX} of the team, are running. Test again once the receiver has answered.`;

const ACTIVE = { state: 'active', reason: '', failures: 0, nextTryAt: '' } as const;

/** The endpoints that are being tested. */
const tests = new Set<Webhook>();

/** Adds an endpoint, which receives later changes of the types in `types`, or of all types if it is empty. */
export async function createWebhook(
  context: EndpointContext,
  { url: address, types: some }: { readonly url: string; readonly types: readonly string[] },
) {
  const { webhooks, isPrivateAllowed, teamId, actor } = context;
  const url = checkUrl(address, isPrivateAllowed);
  const types = checkTypes(some);
  const id = `wh_${randomBytes(9).toString('hex')}`;
  const { secret, bytes } = newSecret();
  const webhook: Webhook = {
    teamId,
    id,
    url,
    types,
    createdAt: formatTime(actor.nowMs),
    secret: bytes,
    oldSecret: null,
    oldSecretEndsAt: '',
    position: await findNewest(context),
    ...ACTIVE,
    deliveredAt: '',
    revision: 0,
  };
  const entry = entryBy(actor, 'webhook added', id, { url: hideQuery(url), types: types.join(' ') });
  orThrow(await webhooks.addWebhook(webhook, entry));
  return { id, secret };
}

/** Lists the endpoints, without the queries of their URLs if `isWhole` is false. */
export async function listViews(context: EndpointContext, isWhole: boolean) {
  const { webhooks, clock, teamId } = context;
  const found = await webhooks.listWebhooks(teamId);
  if (found.length === 0) return [];
  const newest = await findNewest(context);
  const now = formatTime(clock.now());
  const view = async ({ id, url, types, createdAt, state, failures, ...webhook }: Webhook) => {
    const attempts = await webhooks.loadDeliveries(id, Number.MAX_SAFE_INTEGER, '', ATTEMPTS_LISTED);
    return {
      id,
      url: isWhole ? url : hideQuery(url),
      types: [...types],
      createdAt,
      state,
      /** Why the endpoint is paused, or why the last attempt failed; null if neither. */
      reason: webhook.reason || (failures > 0 && attempts.find(({ error }) => error)?.error) || null,
      /** The last attempts and tests, newest first. */
      attempts,
      position: String(webhook.position),
      newest: String(newest),
      /** The number of changes after `position`, of any type. */
      lag: Math.max(0, newest - webhook.position),
      failures,
      nextTryAt: (state === 'active' && webhook.nextTryAt) || null,
      lastDeliveredAt: webhook.deliveredAt || null,
      /** When the last replaced secret stops signing; null if only one signs. */
      secretEndsAt: webhook.oldSecretEndsAt > now ? webhook.oldSecretEndsAt.slice(0, now.length) : null,
    };
  };
  return Promise.all(found.map(view));
}

export async function removeWebhook(
  { webhooks, teamId, actor }: EndpointContext,
  { id }: GivenEndpoint,
): Promise<void> {
  if (!(await webhooks.removeWebhook(teamId, id, entryBy(actor, 'webhook removed', id)))) throw unknown(id);
}

/**
 * Sends a message of the type `test` at once, even while the endpoint waits or is paused. If it is accepted, ends the
 * wait. Throws RATE_LIMITED while the endpoint, or several others of the team, are tested.
 */
export async function testWebhook(context: EndpointContext, { id }: GivenEndpoint) {
  const { webhooks, audit, clock, teamId, actor } = context;
  const webhook = await requireWebhook(context, id);
  const running = [...tests].filter((one) => one.teamId === teamId);
  if (running.length >= TESTS_MAX || running.some((one) => one.id === id))
    throw refuseForNow('RATE_LIMITED', TESTS_RUN);
  tests.add(webhook);
  const poster = new Poster(context);
  try {
    await audit.appendAudit(teamId, entryBy(actor, 'webhook tested', id));
    const sent = await poster.sendMessage(webhook, testMessage(clock.now()), new AbortController().signal);
    await webhooks.addTest(webhook, { ...sent, attempt: 1, nextTryAt: null });
    const { status, error, durationMs } = sent;
    if (error === null && webhook.nextTryAt) await changeWebhook(context, id, { nextTryAt: '' }, 'webhook retried');
    return { status, error, durationMs };
  } finally {
    tests.delete(webhook);
    poster.close();
  }
}

export async function pauseWebhook(context: EndpointContext, { id }: GivenEndpoint): Promise<void> {
  const reason = `It was paused manually (${context.actor.actor}).`;
  await changeWebhook(context, id, { state: 'paused', reason, nextTryAt: '' }, 'webhook paused');
}

/** Continues from the current position, or after the change `after`. Also ends a pause. */
export async function replayWebhook(
  context: EndpointContext,
  { id, after }: GivenEndpoint & { readonly after?: string | undefined },
): Promise<void> {
  if (after === undefined) return changeWebhook(context, id, ACTIVE, 'webhook replayed');
  const position = /^\d{1,15}$/.test(after) ? Number(after) : NaN;
  const newest = await findNewest(context);
  if (!(position <= newest))
    throw refuseField('COMMAND_REFUSED', 'after', `'after' must be the number of a change, from 0 to ${newest}.`);
  // Refuses a position whose changes are no longer kept.
  await listChanges(await context.openPims(), { after: position, types: CHANGED_TYPES, limit: 1 });
  return changeWebhook(context, id, { ...ACTIVE, position }, 'webhook replayed', { after });
}

/** Replaces the secret. For 24 hours, messages are also signed with the replaced one. */
export async function rotateSecret(context: EndpointContext, { id }: GivenEndpoint) {
  const { secret, bytes } = newSecret();
  const oldSecretEndsAt = endOfOldSecret(context.actor.nowMs);
  await changeWebhook(context, id, { secret: bytes, oldSecretEndsAt }, 'webhook secret replaced');
  return { secret, oldSecretEndsAt };
}

/** Loads a page of the deliveries of the last 30 days, newest first. */
export async function loadDeliveries(
  context: EndpointContext,
  id: string,
  before: number,
  limit: number,
): Promise<Delivery[]> {
  await requireWebhook(context, id);
  const from = formatTime(context.clock.now() - DELIVERY_DAYS * DAY_MS);
  return context.webhooks.loadDeliveries(id, before, from, limit);
}

async function requireWebhook({ webhooks, teamId }: EndpointContext, id: string): Promise<Webhook> {
  const webhook = await webhooks.findWebhook(teamId, id);
  if (!webhook) throw unknown(id);
  return webhook;
}

const findNewest = async ({ openPims }: EndpointContext): Promise<number> =>
  (await listChanges(await openPims(), { after: undefined, types: CHANGED_TYPES, limit: 1 })).next;

async function changeWebhook(
  { webhooks, teamId, actor }: EndpointContext,
  id: string,
  change: WebhookChange,
  action: string,
  detail = {},
): Promise<void> {
  if (!(await webhooks.changeWebhook(teamId, id, change, entryBy(actor, action, id, detail)))) throw unknown(id);
}

const unknown = (id: string) =>
  refuseField('NOT_FOUND', 'id', `There is no webhook '${id}'. List the webhooks to see their IDs.`);
