/** Delivers the changes of a tenant to one endpoint, in order and one at a time, and saves how far it is. */
import type { Clock } from '../clock.ts';
import { Refusal } from '../errors.ts';
import { listChanges, type Change, type ChangePage, type ChangeSource } from '../pims/changes.ts';
import { messageOf, type SentMessage } from './messages.ts';
import { timeOfRetry, waitUntil } from './webhooks.ts';
import type { Attempt, Progress, Webhook, WebhookStore } from './webhooks-port.ts';

const PAGE_CHANGES = 64;
/** Delivered changes are saved in groups. After a crash, those of a group that was not saved are delivered again. */
const GROUP_MAX = 16;
const GROUP_MS = 500;
/** An answer that took this long makes a receiver a slow one. */
const SLOW_MS = 2000;
const GONE = 410;

/** Thrown when a person or another node has changed the endpoint: the loop starts again with the stored endpoint. */
export const CHANGED = new Error('The endpoint has changed.');

export interface LoopServices {
  readonly webhooks: Pick<WebhookStore, 'findWebhook' | 'saveProgress'>;
  readonly source: ChangeSource;
  readonly clock: Clock;
  /** Sends a message once, when it is its turn. `isSlow`: the last attempt failed or took long. */
  readonly deliver: (message: ReturnType<typeof messageOf>, isSlow: boolean) => Promise<SentMessage>;
  /** Notes the time of the oldest change that the endpoint has not received, or undefined. */
  readonly noteOldest: (at: number | undefined) => void;
}

export class EndpointLoop {
  readonly #services: LoopServices;
  readonly #signal: AbortSignal;
  /** The stored endpoint. */
  #webhook: Webhook;
  #progress: Progress;
  #unsaved: Attempt[] = [];
  #savedAt = 0;
  #isSlow: boolean;

  constructor(webhook: Webhook, services: LoopServices, signal: AbortSignal) {
    this.#services = services;
    this.#signal = signal;
    this.#webhook = webhook;
    this.#progress = webhook;
    this.#isSlow = webhook.failures > 0;
  }

  /** Runs until the endpoint is paused or the signal aborts. Throws CHANGED, and faults of the store. */
  async run(): Promise<void> {
    const { clock } = this.#services;
    try {
      while (this.#progress.state === 'active' && !this.#signal.aborted) {
        await wait(clock, waitUntil(this.#progress.nextTryAt, clock.now()), this.#signal);
        if (!this.#signal.aborted) await this.#deliverPage();
      }
    } finally {
      if (this.#unsaved.length > 0) await this.#save();
    }
  }

  async #deliverPage(): Promise<void> {
    const { source, noteOldest } = this.#services;
    let page = await this.#read();
    if (page && isEmpty(page)) {
      noteOldest(undefined);
      // Listens before it reads again, so that no change is missed in between.
      const next = source.nextChange(this.#signal);
      page = await this.#read();
      if (page && isEmpty(page)) {
        await this.#passOver(page.next);
        return next;
      }
    }
    if (page && page.changes.length > 0) await this.#checkUnchanged();
    for (const change of page?.changes ?? []) {
      noteOldest(Date.parse(change.at));
      if (!(await this.#deliver(change))) return undefined;
    }
    return page && this.#passOver(page.next);
  }

  /** Returns the changes after the position; undefined, and the endpoint is paused, if the feed does not have them. */
  async #read(): Promise<ChangePage | undefined> {
    const request = { after: this.#progress.position, types: this.#webhook.types, limit: PAGE_CHANGES };
    try {
      return await listChanges(await this.#services.source.open(), request);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'CHANGES_GONE')) throw fault;
      await this.#pause(`${fault.message} Read the records again, then replay from a change that the feed has.`);
      return undefined;
    }
  }

  /** After reading, so that a pause or a new secret holds for every change that is committed after it. */
  async #checkUnchanged(): Promise<void> {
    const { teamId, id, revision } = this.#webhook;
    const stored = await this.#services.webhooks.findWebhook(teamId, id);
    if (stored?.revision !== revision) throw CHANGED;
  }

  /** Returns whether the receiver has taken the change. */
  async #deliver(change: Change): Promise<boolean> {
    const { clock, deliver } = this.#services;
    const sent = await deliver(messageOf(this.#webhook, change), this.#isSlow);
    const attempt = this.#progress.failures + 1;
    if (sent.error === null) {
      const position = Number(change.seq);
      this.#progress = { ...this.#progress, position, failures: 0, nextTryAt: '', deliveredAt: sent.at };
      this.#unsaved.push({ ...sent, attempt, nextTryAt: null });
      const isFull = this.#unsaved.length >= GROUP_MAX || clock.elapsed() - this.#savedAt >= GROUP_MS;
      if (isFull) await this.#save();
      this.#isSlow = sent.durationMs >= SLOW_MS;
      return true;
    }
    this.#isSlow = true;
    const nextTryAt = sent.status === GONE ? undefined : timeOfRetry(attempt, clock.now());
    this.#unsaved.push({ ...sent, attempt, nextTryAt: nextTryAt ?? null });
    this.#progress = { ...this.#progress, failures: attempt, nextTryAt: nextTryAt ?? '' };
    if (nextTryAt !== undefined) await this.#save();
    else await this.#pause(sent.status === GONE ? sent.error : `${attempt} attempts failed. The last: ${sent.error}`);
    return false;
  }

  /** Moves the position over changes of other types, and saves it. */
  async #passOver(position: number): Promise<void> {
    this.#progress = { ...this.#progress, position };
    if (position !== this.#webhook.position || this.#unsaved.length > 0) await this.#save();
  }

  #pause(reason: string): Promise<void> {
    this.#progress = { ...this.#progress, state: 'paused', reason, nextTryAt: '' };
    return this.#save();
  }

  async #save(): Promise<void> {
    const attempts = this.#unsaved;
    this.#unsaved = [];
    if (!(await this.#services.webhooks.saveProgress(this.#webhook, this.#progress, attempts))) throw CHANGED;
    this.#webhook = { ...this.#webhook, ...this.#progress };
    this.#savedAt = this.#services.clock.elapsed();
  }
}

const isEmpty = ({ changes, hasMore }: ChangePage): boolean => changes.length === 0 && !hasMore;

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export async function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(ms, resolve);
  const end = (): void => resolve();
  signal.addEventListener('abort', end, { once: true });
  await promise;
  signal.removeEventListener('abort', end);
  timer.close();
}
