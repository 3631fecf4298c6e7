/** Delivers the changes of a tenant to one endpoint, in order and one at a time, and saves the progress. */
import type { Clock } from '../clock.ts';
import { Refusal } from '../errors.ts';
import { listChanges, type Change, type ChangePage } from '../pims/changes.ts';
import type { KeyedType } from '../pims/rules/fields.ts';
import type { Tenant, TenantStore } from '../tenant/tenant-port.ts';
import type { WebhookServices } from './administration.ts';
import { messageOf, type Message, type SentMessage } from './poster.ts';
import { timeOfRetry, waitOf } from './webhooks.ts';
import type { Attempt, Progress, Webhook } from './webhooks-port.ts';

const PAGE_CHANGES = 64;
/** How often delivered changes are saved. After a crash, those that were not saved are delivered again. */
const SAVE_MS = 500;
/** Time after a fault of the store until an endpoint is tried again. */
const FAULT_MS = 10_000;
const GONE = 410;

export interface LoopServices extends WebhookServices {
  readonly tenants: TenantStore;
  /** Resolves when a change may have been committed since the call, or when the signal aborts. */
  readonly nextChange: (tenant: Tenant, ended: AbortSignal) => Promise<void>;
  readonly report: (event: string) => void;
}

/** Sends a message once, when a place is free. `last` is the endpoint's previous attempt. */
type Deliver = (
  webhook: Webhook,
  message: Message,
  last: SentMessage | undefined,
  ended: AbortSignal,
) => Promise<SentMessage>;

export class EndpointLoop {
  readonly #services: LoopServices;
  readonly #deliver: Deliver;
  readonly #ended: Promise<void>;
  #webhook: Webhook;
  #waitingSince: number | undefined;
  #last: SentMessage | undefined;
  #aborting = new AbortController();
  #isStopped = false;

  constructor(webhook: Webhook, services: LoopServices, deliver: Deliver) {
    this.#webhook = webhook;
    this.#services = services;
    this.#deliver = deliver;
    this.#ended = this.#runLoop();
  }

  /** The endpoint as last loaded or saved. */
  get webhook(): Webhook {
    return this.#webhook;
  }

  /** The time of the oldest change not yet received; undefined if there is none or the endpoint is paused. */
  get waitingSince(): number | undefined {
    return this.#webhook.state === 'active' ? this.#waitingSince : undefined;
  }

  /** Ends a wait or a delivery, and loads the endpoint again. */
  wake(): void {
    this.#aborting.abort();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#ended;
  }

  /** Runs until the loop is stopped or the endpoint is removed. Never throws. */
  async #runLoop() {
    const { clock, report } = this.#services;
    while (!this.#isStopped) {
      this.#aborting = new AbortController();
      const { signal } = this.#aborting;
      try {
        await this.#runPass(signal);
      } catch (fault) {
        if (signal.aborted) continue;
        report(`Deliveries to ${this.#webhook.id} wait for 10 seconds after a fault: ${(fault as Error).message}`);
        await waitUnlessAborted(clock, FAULT_MS, signal);
      } finally {
        this.wake(); // ends the wait for a change
      }
    }
  }

  /** Delivers one page, or waits for the next attempt or for a change. */
  async #runPass(signal: AbortSignal) {
    const { webhooks, tenants, nextChange, clock } = this.#services;
    const { teamId, id } = this.#webhook;
    const webhook = await webhooks.findWebhook(teamId, id);
    const tenant = await tenants.findTenant(teamId);
    if (!webhook || !tenant) {
      this.#isStopped = true;
      return undefined;
    }
    this.#webhook = webhook;
    const waitMs = waitOf(webhook, clock.now());
    if (waitMs > 0) return waitUnlessAborted(clock, waitMs, signal);
    // Listen before reading, so that no change in between is missed.
    const change = nextChange(tenant, signal);
    const page = await this.#readFeed(tenant, signal);
    if (!page) return undefined;
    if (page.changes.length > 0) {
      // Check after reading, so that a pause or a new secret applies to every change that is committed after it.
      const stored = await webhooks.findWebhook(teamId, id);
      if (stored?.revision !== webhook.revision) return undefined;
      return this.#deliverPage(page, signal);
    }
    if (page.next !== webhook.position) await this.#keepProgress({ ...webhook, position: page.next });
    if (page.hasMore) return undefined;
    this.#waitingSince = undefined;
    return change;
  }

  /** Returns the changes after the position. If the feed lacks them, pauses the endpoint and returns undefined. */
  async #readFeed(tenant: Tenant, signal: AbortSignal): Promise<ChangePage | undefined> {
    const { position, types } = this.#webhook;
    try {
      const store = await this.#services.pims(tenant);
      const ofRecords = types.map((one) => one.split('.')[0] as KeyedType);
      const page = await listChanges(store, { after: position, types: ofRecords, limit: PAGE_CHANGES }, () => signal);
      // `orders` means both of its events.
      const isWanted = ({ type, change }: Change) => types.some((one) => `${type}.${change}`.startsWith(one));
      return { ...page, changes: page.changes.filter(isWanted) };
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'CHANGES_GONE')) throw fault;
      const reason = `${fault.message} Read the records again, then replay from a change that the feed has.`;
      await this.#keepProgress({ ...this.#webhook, ...pausedFor(reason) });
      return undefined;
    }
  }

  async #deliverPage({ changes, next }: ChangePage, signal: AbortSignal) {
    const { clock } = this.#services;
    const unsaved: Attempt[] = [];
    let savedAt = clock.elapsed();
    let progress: Progress = this.#webhook;
    try {
      for (const change of changes) {
        this.#waitingSince = Date.parse(change.at);
        const sent = await this.#deliver(this.#webhook, messageOf(this.#webhook, change), this.#last, signal);
        this.#last = sent;
        const attempt = progress.failures + 1;
        progress = after(progress, change, sent, clock.now());
        unsaved.push({ ...sent, attempt, nextTryAt: progress.nextTryAt || null });
        if (sent.error !== null) return;
        if (clock.elapsed() - savedAt < SAVE_MS) continue;
        if (!(await this.#keepProgress(progress, unsaved.splice(0)))) return;
        savedAt = clock.elapsed();
      }
      progress = { ...progress, position: next };
    } finally {
      if (unsaved.length > 0) await this.#keepProgress(progress, unsaved);
    }
  }

  /** Returns false, and saves nothing, if a person or another node has changed the endpoint: the round then ends. */
  async #keepProgress(progress: Progress, attempts: readonly Attempt[] = []): Promise<boolean> {
    const isSaved = await this.#services.webhooks.saveProgress(this.#webhook, progress, attempts);
    if (isSaved) this.#webhook = { ...this.#webhook, ...progress };
    return isSaved;
  }
}

/** Returns the progress after an attempt to deliver a change. */
function after(before: Progress, change: Change, { error, status, at }: SentMessage, nowMs: number): Progress {
  if (error === null) return { ...before, position: Number(change.seq), failures: 0, nextTryAt: '', deliveredAt: at };
  const failures = before.failures + 1;
  const nextTryAt = status === GONE ? undefined : timeOfRetry(failures, nowMs);
  if (nextTryAt !== undefined) return { ...before, failures, nextTryAt };
  const reason = status === GONE ? error : `${failures} attempts failed. The last error: ${error}`;
  return { ...before, failures, ...pausedFor(reason) };
}

const pausedFor = (reason: string) => ({ state: 'paused', reason, nextTryAt: '' }) as const;

/** Resolves after `ms` milliseconds, or when the signal aborts. */
async function waitUnlessAborted(clock: Clock, ms: number, signal: AbortSignal) {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  signal.addEventListener('abort', resolve, { once: true });
  const timer = clock.after(ms, () => resolve(undefined));
  await promise;
  timer.close();
}
