/**
 * Begin here: authenticated calls become lines in memory, and four times a second the lines become blocks in the store.
 * A call never waits for its line: a call beyond a bound is counted, not logged. Source: decision 0022.
 */
import { DAY_MS, formatTime, type Clock, type Timer } from '../clock.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { hideSecrets } from '../tenant/secrets.ts';
import type { LoggedCall, RequestsQuery } from './logged-request.ts';
import {
  addLine,
  BlockPacker,
  CLIENT_CHARACTERS_MAX,
  cutText,
  formatLine,
  isFull,
  nextRound,
  openBlock,
  secondOf,
  type FoundRequestDetail,
  type OpenBlock,
} from './lines.ts';
import { findRequest, searchRequests } from './search.ts';
import { LogShares, type BatchShares, type LogShare } from './shares.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from './request-log-port.ts';

const FLUSH_MS = 250;
/** The number of calls that are formatted at a time. */
const CALLS_PER_BATCH = 125;
/** Maximum characters of the bodies of these calls. */
const BODY_CHARACTERS_PER_BATCH = 1024 * 1024;
/** A batch of this size is saved at once. */
const BATCH_LINES = 5000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** The oldest blocks are deleted after this many added bytes, or after an eighth of a tenant's maximum. */
const TRIM_BYTES = 4 * 1024 * 1024;

type LoggedTenant = Pick<Tenant, 'teamId' | 'createdAt'>;
type TeamKeyUse = { -readonly [Name in keyof KeyUse]: KeyUse[Name] } & { readonly teamId: string };

/** Lines and counts that the store saves in one transaction. */
interface LogBatch {
  readonly open: Map<string, OpenBlock>;
  readonly refusals: Map<string, RefusalCount>;
  readonly uses: Map<string, TeamKeyUse>;
  lines: number;
  characters: number;
  /** The full blocks, and all blocks once a save begins. A retry sends the same ones, so the store recognises them. */
  readonly blocks: Promise<RequestBlock>[];
  readonly shares: BatchShares;
}

export interface RequestLogOptions {
  readonly requestLogDays: number;
  /** Maximum megabytes of each tenant in the store. */
  readonly requestLogMb: number;
  /** Maximum lines per second of each tenant on this node. */
  readonly requestLogRate: number;
  /** Returns whether the disk has space for the log. Without this function, it always has. */
  readonly hasDisk?: () => boolean;
  readonly clock: Clock;
}

const openBatch = (): LogBatch => ({
  open: new Map(),
  refusals: new Map(),
  uses: new Map(),
  shares: new Map(),
  lines: 0,
  characters: 0,
  blocks: [],
});

export class RequestLog {
  readonly #store: RequestStore;
  readonly #options: RequestLogOptions;
  readonly #shares: LogShares;
  readonly #packer = new BlockPacker();
  /** Calls to format. Formatting many at a time takes a fraction of the time of formatting each after its response. */
  #calls: LoggedCall[] = [];
  #bodyCharacters = 0;
  #batch = openBatch();
  /** Batches that are full, or that the store could not save, oldest first. */
  readonly #queue: LogBatch[] = [];
  #flushing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #recorded = 0;
  #tried = 0;
  /** The number of calls that are not logged, because there was no space for them or they could not be formatted. */
  dropped = 0;
  /** The number of calls that are not logged, because their tenant exceeded its rate. */
  beyondRate = 0;
  /** Whether the store, or its disk, accepted no lines at the last attempt. */
  isStopped = false;
  /** Bytes added to the store since the oldest blocks were last deleted. */
  #added = 0;

  constructor(store: RequestStore, options: RequestLogOptions) {
    this.#store = store;
    this.#options = options;
    this.#shares = new LogShares(options.requestLogRate);
  }

  /** The number of lines that wait for the store. */
  get waiting(): number {
    return this.#shares.waitingLines;
  }

  /** Adds a call. Returns at once and never throws. */
  record(call: LoggedCall): void {
    this.#recorded++;
    this.#calls.push(call);
    this.#bodyCharacters += call.body?.length ?? 0;
    this.#setTimer();
    if (this.#calls.length < CALLS_PER_BATCH && this.#bodyCharacters < BODY_CHARACTERS_PER_BATCH) return;
    this.#formatCalls();
    if (this.#batch.lines < BATCH_LINES && this.#batch.characters < BATCH_CHARACTERS) return;
    this.#enqueueBatch();
    void this.#flushLines();
  }

  /** Resolves when everything recorded so far is in the store, or the store has failed once to save it. */
  async settled(): Promise<void> {
    const recorded = this.#recorded;
    while (this.#tried < recorded) await this.#flushLines();
  }

  /** Returns a page, newest first. Throws INVALID_PARAMETER, INVALID_CURSOR, and refusals of the store. */
  async search(tenant: LoggedTenant, query: RequestsQuery, nowMs: number) {
    await this.settled();
    return {
      ...(await searchRequests(this.#store, tenant.teamId, query, this.#shownFrom(tenant, nowMs))),
      keptDays: this.#options.requestLogDays,
    };
  }

  /** Returns the request with this ID; undefined when there is none or it is too old to be shown. */
  async findDetail(tenant: LoggedTenant, requestId: string, nowMs: number): Promise<FoundRequestDetail | undefined> {
    await this.settled();
    const found = await findRequest(this.#store, tenant.teamId, requestId);
    return found && found.at >= this.#shownFrom(tenant, nowMs) ? found : undefined;
  }

  /** Deletes requests older than the days the log keeps. */
  deleteExpired(nowMs: number): Promise<void> {
    return this.#store.deleteRequestsBefore(this.#keptFrom(nowMs));
  }

  /**
   * Returns the time from which requests are shown. A line of a removed tenant with the same teamID may have been saved
   * after the removal; it is older than this tenant.
   */
  #shownFrom({ createdAt }: LoggedTenant, nowMs: number): string {
    const keptFrom = this.#keptFrom(nowMs);
    return createdAt > keptFrom ? createdAt : keptFrom;
  }

  #keptFrom(nowMs: number): string {
    return formatTime(nowMs - this.#options.requestLogDays * DAY_MS);
  }

  #formatCalls() {
    const calls = this.#calls;
    this.#calls = [];
    this.#bodyCharacters = 0;
    const nowMs = this.#options.clock.elapsed();
    for (const call of calls)
      try {
        const dash = call.requestId.lastIndexOf('-');
        const digits = call.requestId.slice(dash + 1);
        if (digits === '') throw new TypeError('The request ID has no number.');
        if (call.apiId !== null) this.#noteUse(call.apiId, call);
        if (call.httpStatus >= 400) noteRefusal(this.#batch.refusals, call);
        const share = this.#shares.findShare(call.teamId);
        if (!this.#shares.hasSpace(share)) this.dropped++;
        else if (!this.#shares.takeToken(share, call.httpStatus >= 400, nowMs)) this.beyondRate++;
        else this.#addLine(call, call.requestId.slice(0, dash), digits, share);
      } catch {
        this.dropped++;
      }
  }

  #addLine(call: LoggedCall, boot: string, digits: string, share: LogShare) {
    const { teamId, at } = call;
    const batch = this.#batch;
    const line = formatLine(digits, call);
    const place = `${boot} ${secondOf(at)} ${teamId}`;
    let block = batch.open.get(place);
    if (block && isFull(block)) batch.blocks.push(this.#packer.pack(block));
    if (!block || isFull(block)) batch.open.set(place, (block = openBlock(teamId, boot, digits, at)));
    addLine(block, digits, at, line);
    this.#shares.countLine(batch.shares, share, line.length);
    batch.lines++;
    batch.characters += line.length;
  }

  #noteUse(apiId: string, { teamId, at, client, isUrlCredential }: LoggedCall) {
    const unused = () => ({ teamId, apiId, usedAt: '', client: '', usedInUrlAt: '' });
    const use = this.#batch.uses.getOrInsertComputed(apiId, unused);
    if (at >= use.usedAt) {
      use.usedAt = at;
      if (client !== use.client) use.client = formatClient(client);
    }
    if (isUrlCredential && at > use.usedInUrlAt) use.usedInUrlAt = at;
  }

  /** Runs one flush at a time. Sets the timer again while something waits. */
  #flushLines() {
    return (this.#flushing ??= this.#saveAll().finally(() => {
      this.#flushing = undefined;
      if (this.#calls.length > 0 || this.#batch.lines > 0 || this.#queue.length > 0) this.#setTimer();
    }));
  }

  #setTimer() {
    if (this.#timer) return;
    this.#timer = this.#options.clock.after(FLUSH_MS, () => {
      this.#timer = undefined;
      void this.#flushLines();
    });
  }

  async #saveAll() {
    let tried = this.#recorded;
    this.#formatCalls();
    // While the store cannot save, new calls stay in one batch instead of many small ones.
    if (await this.#saveQueue()) {
      tried = this.#recorded;
      this.#formatCalls();
      this.#enqueueBatch();
      await this.#saveQueue();
    }
    this.#tried = tried;
  }

  /** Saves the queue. Returns false when the store could not save a batch, which then stays in the queue. */
  async #saveQueue(): Promise<boolean> {
    this.isStopped = this.#options.hasDisk?.() === false;
    if (this.isStopped) return false;
    try {
      for (let batch = this.#queue[0]; batch; batch = this.#queue[0]) {
        await this.#saveBatch(batch);
        this.#shares.release(batch.shares);
        this.#queue.shift();
      }
    } catch {
      this.isStopped = true;
      return false;
    }
    const bytesMax = this.#options.requestLogMb * 1024 * 1024;
    if (this.#added < Math.min(TRIM_BYTES, bytesMax / 8)) return true;
    // If the store fails to delete, it is asked again after the next batch.
    const done = this.#store.trimRequests(bytesMax).then(() => void (this.#added = 0));
    await done.catch(() => undefined);
    return true;
  }

  async #saveBatch(batch: LogBatch) {
    // Each round of the event loop packs one block.
    for (const [key, block] of batch.open) {
      batch.blocks.push(this.#packer.pack(block));
      batch.open.delete(key);
      await nextRound();
    }
    const blocks = await Promise.all(batch.blocks);
    await this.#store.addRequests(blocks, [...batch.refusals.values()], [...batch.uses.values()]);
    for (const { lines } of blocks) this.#added += lines.length;
  }

  /** Queues the batch. A batch without lines stays open, since the store recognises a batch by its first block. */
  #enqueueBatch() {
    if (this.#batch.lines === 0) return;
    this.#queue.push(this.#batch);
    this.#batch = openBatch();
  }
}

function noteRefusal(refusals: Map<string, RefusalCount>, { teamId, at, operation }: LoggedCall) {
  const day = at.slice(0, 10);
  refusals.getOrInsertComputed(`${teamId} ${day} ${operation}`, () => ({ teamId, day, operation, calls: 0 })).calls++;
}

/** Returns the client as a text that every store accepts. */
const formatClient = (client: string) =>
  hideSecrets(cutText(client, CLIENT_CHARACTERS_MAX)).toWellFormed().replaceAll('\0', '');
