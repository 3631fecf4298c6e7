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

/** An endpoint without its secrets. */
export type WebhookView = Awaited<ReturnType<Webhooks['listViews']>>[number];

/** Returns a URL without its query, which often contains a token. */
const hideQuery = (url: string): string => url.replace(/\?.*/s, '?…');

/** Number of attempts that a list shows for each endpoint. */
const ATTEMPTS_LISTED = 5;
/** Maximum endpoints of a tenant that are tested at a time. */
const TESTS_MAX = 3;
const TESTS_RUN = `A test of this webhook, or ${TESTS_MAX} of the team, are running. Test again once the receiver has answered.`;

const ACTIVE = { state: 'active', reason: '', failures: 0, nextTryAt: '' } as const;

export class Webhooks {
  readonly #services: WebhookServices;
  /** The endpoints that are being tested. */
  readonly #tests = new Set<Webhook>();

  constructor(services: WebhookServices) {
    this.#services = services;
  }

  /** Adds an endpoint, which receives later changes of the types in `some`, or of all types if `some` is empty. */
  async createWebhook(tenant: Tenant, address: string, some: readonly string[], actor: Actor) {
    const { webhooks, isPrivateAllowed } = this.#services;
    const { teamId } = tenant;
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
      position: await this.#findNewest(tenant),
      ...ACTIVE,
      deliveredAt: '',
      revision: 0,
    };
    const entry = entryBy(actor, 'webhook added', id, { url: hideQuery(url), types: types.join(' ') });
    orThrow(await webhooks.addWebhook(webhook, entry));
    return { id, secret };
  }

  /** Lists the endpoints, without the queries of their URLs if `isWhole` is false. */
  async listViews(tenant: Tenant, isWhole = true) {
    const found = await this.#services.webhooks.listWebhooks(tenant.teamId);
    if (found.length === 0) return [];
    const newest = await this.#findNewest(tenant);
    const now = formatTime(this.#services.clock.now());
    const view = async ({ id, url, types, createdAt, state, failures, ...webhook }: Webhook) => {
      const attempts = await this.#services.webhooks.loadDeliveries(id, Number.MAX_SAFE_INTEGER, '', ATTEMPTS_LISTED);
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

  async remove({ teamId }: Tenant, id: string, actor: Actor): Promise<void> {
    const entry = entryBy(actor, 'webhook removed', id);
    if (!(await this.#services.webhooks.removeWebhook(teamId, id, entry))) throw unknown(id);
  }

  /**
   * Sends a message of the type `test` at once, even while the endpoint waits or is paused. If it is accepted, ends the
   * wait. Throws RATE_LIMITED while the endpoint, or several others of the team, are tested.
   */
  async test(tenant: Tenant, id: string, actor: Actor) {
    const { webhooks, audit, clock } = this.#services;
    const webhook = await this.#requireWebhook(tenant, id);
    const running = [...this.#tests].filter(({ teamId }) => teamId === tenant.teamId);
    if (running.length >= TESTS_MAX || running.some((one) => one.id === id))
      throw refuseForNow('RATE_LIMITED', TESTS_RUN);
    this.#tests.add(webhook);
    const poster = new Poster(this.#services);
    try {
      await audit.appendAudit(tenant.teamId, entryBy(actor, 'webhook tested', id));
      const sent = await poster.sendMessage(webhook, testMessage(clock.now()), new AbortController().signal);
      await webhooks.addTest(webhook, { ...sent, attempt: 1, nextTryAt: null });
      const { status, error, durationMs } = sent;
      if (error === null && webhook.nextTryAt)
        await this.#change(tenant, id, { nextTryAt: '' }, actor, 'webhook retried');
      return { status, error, durationMs };
    } finally {
      this.#tests.delete(webhook);
      poster.close();
    }
  }

  async pause(tenant: Tenant, id: string, actor: Actor): Promise<void> {
    const paused = { state: 'paused', reason: `It was paused manually (${actor.actor}).`, nextTryAt: '' } as const;
    await this.#change(tenant, id, paused, actor, 'webhook paused');
  }

  /** Continues from the current position, or after the change `after`. Also ends a pause. */
  async replay(tenant: Tenant, id: string, after: string | undefined, actor: Actor): Promise<void> {
    if (after === undefined) return this.#change(tenant, id, ACTIVE, actor, 'webhook replayed');
    const position = /^\d{1,15}$/.test(after) ? Number(after) : NaN;
    const newest = await this.#findNewest(tenant);
    if (!(position <= newest))
      throw refuseField('COMMAND_REFUSED', 'after', `'after' must be the number of a change, from 0 to ${newest}.`);
    // Refuses a position whose changes are no longer kept.
    await listChanges(await this.#services.pims(tenant), { after: position, types: CHANGED_TYPES, limit: 1 });
    return this.#change(tenant, id, { ...ACTIVE, position }, actor, 'webhook replayed', { after });
  }

  /** Replaces the secret. For 24 hours, messages are also signed with the replaced one. */
  async rotate(tenant: Tenant, id: string, actor: Actor) {
    const { secret, bytes } = newSecret();
    const oldSecretEndsAt = endOfOldSecret(actor.nowMs);
    await this.#change(tenant, id, { secret: bytes, oldSecretEndsAt }, actor, 'webhook secret replaced');
    return { secret, oldSecretEndsAt };
  }

  /** Replaces the key that encrypts the secrets of all tenants. Returns the number of webhooks. */
  replaceKey(actor: Actor): Promise<number> {
    return this.#services.webhooks.replaceSealingKey(entryBy(actor, 'webhook key replaced', ''));
  }

  /** Loads a page of the deliveries of the last 30 days, newest first. */
  async loadDeliveries(tenant: Tenant, id: string, before: number, limit: number): Promise<Delivery[]> {
    await this.#requireWebhook(tenant, id);
    const { webhooks, clock } = this.#services;
    const from = formatTime(clock.now() - DELIVERY_DAYS * DAY_MS);
    return webhooks.loadDeliveries(id, before, from, limit);
  }

  async #requireWebhook({ teamId }: Tenant, id: string): Promise<Webhook> {
    const webhook = await this.#services.webhooks.findWebhook(teamId, id);
    if (!webhook) throw unknown(id);
    return webhook;
  }

  async #findNewest(tenant: Tenant): Promise<number> {
    const store = await this.#services.pims(tenant);
    return (await listChanges(store, { after: undefined, types: CHANGED_TYPES, limit: 1 })).next;
  }

  async #change(
    { teamId }: Tenant,
    id: string,
    change: WebhookChange,
    actor: Actor,
    action: string,
    detail = {},
  ): Promise<void> {
    const entry = entryBy(actor, action, id, detail);
    if (!(await this.#services.webhooks.changeWebhook(teamId, id, change, entry))) throw unknown(id);
  }
}

const unknown = (id: string) =>
  refuseField('NOT_FOUND', 'id', `There is no webhook '${id}'. List the webhooks to see their IDs.`);
