/**
 * The request log: every authenticated call becomes a line in memory, and four times a second the lines become blocks
 * in the store. Calls never wait: lines the store does not take are kept within bounds, then dropped. Source: decision
 * 0022.
 */
import { hideSecrets } from '../tenant/credentials.ts';
import type { LoggedCall, FoundRequestDetail, RequestsQuery, FoundRequests } from './logged-request.ts';
import { addLine, BlockPacker, CLIENT_CHARACTERS_MAX, cut } from './lines.ts';
import { formatLine, nextTurn, openBlock, type OpenBlock } from './lines.ts';
import { findRequest, searchRequests } from './search.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from './port.ts';

const FLUSH_MS = 250;
/** Calls are formatted this many at a time. */
const CALLS_PER_BATCH = 125;
/** A batch of this size is saved at once. */
const BATCH_LINES = 5000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** The most that waits for a store that takes nothing. */
const WAITING_LINES_MAX = 20_000;
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
const DAY_MS = 86_400_000;

type TeamKeyUse = { -readonly [Name in keyof KeyUse]: KeyUse[Name] } & { readonly teamId: string };

/** What the store saves in one transaction. */
interface LogBatch {
  readonly open: Map<string, OpenBlock>;
  readonly refusals: Map<string, RefusalCount>;
  readonly uses: Map<string, TeamKeyUse>;
  lines: number;
  characters: number;
  /** Full blocks, and at the end all. A retry sends the same blocks, so that the store recognises them. */
  readonly blocks: Promise<RequestBlock>[];
}

const openBatch = (): LogBatch => {
  return { open: new Map(), refusals: new Map(), uses: new Map(), lines: 0, characters: 0, blocks: [] };
};

export class RequestLog {
  readonly #store: RequestStore;
  readonly #keptDays: number;
  readonly #packer = new BlockPacker();
  /** Calls to format. Many at a time take a fraction of what each would between its answer and the next request. */
  #calls: LoggedCall[] = [];
  #batch = openBatch();
  /** The block of the call before, in the open batch. */
  #last: OpenBlock | undefined;
  #lastUse: TeamKeyUse | undefined;
  /** Batches that are full, or that the store did not take, oldest first. */
  readonly #queue: LogBatch[] = [];
  #isSaving = false;
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #recorded = 0;
  #tried = 0;
  #dropped = 0;

  constructor(store: RequestStore, { keptDays }: { keptDays: number }) {
    this.#store = store;
    this.#keptDays = keptDays;
  }

  /** Number of calls that are in no log, because the store did not take them or they could not be formatted. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds a call. Returns at once and never throws. */
  record(call: LoggedCall): void {
    this.#recorded++;
    this.#calls.push(call);
    this.#setTimer();
    if (this.#calls.length < CALLS_PER_BATCH) return;
    this.#formatCalls();
    if (this.#batch.lines < BATCH_LINES && this.#batch.characters < BATCH_CHARACTERS) return;
    this.#enqueueBatch();
    void this.#flush();
  }

  /** Resolves when everything recorded so far is in the store, or the store has failed to take it once. */
  async settled(): Promise<void> {
    const recorded = this.#recorded;
    while (this.#tried < recorded) await this.#flush();
  }

  /** A page, newest first. Throws INVALID_PARAMETER, INVALID_CURSOR, and what the store refuses. */
  async search(teamId: string, query: RequestsQuery, nowMs: number): Promise<FoundRequests> {
    await this.settled();
    return { ...(await searchRequests(this.#store, teamId, query, this.#keptFrom(nowMs))), keptDays: this.#keptDays };
  }

  /** The request with this ID; undefined when there is none or it is too old to be shown. */
  async find(teamId: string, requestId: string, nowMs: number): Promise<FoundRequestDetail | undefined> {
    await this.settled();
    const found = await findRequest(this.#store, teamId, requestId);
    return found && found.at >= this.#keptFrom(nowMs) ? found : undefined;
  }

  /** Deletes requests older than the days the log keeps. */
  deleteExpired(nowMs: number): Promise<void> {
    return this.#store.deleteRequestsBefore(this.#keptFrom(nowMs));
  }

  #keptFrom(nowMs: number): string {
    return new Date(nowMs - this.#keptDays * DAY_MS).toISOString();
  }

  #formatCalls(): void {
    const calls = this.#calls;
    this.#calls = [];
    for (const call of calls)
      try {
        const dash = call.requestId.lastIndexOf('-');
        const digits = call.requestId.slice(dash + 1);
        if (digits === '') throw new TypeError('This is no request ID.');
        this.#gather(call, dash, digits, formatLine(digits, call));
      } catch {
        this.#dropped++;
      }
  }

  #gather(call: LoggedCall, dash: number, digits: string, line: string): void {
    const batch = this.#batch;
    let block = this.#findBlock(call, dash, digits);
    if (!addLine(block, digits, call.at, line)) {
      batch.blocks.push(...this.#packer.pack(block));
      block = this.#openBlock(call, block.boot, digits);
      addLine(block, digits, call.at, line);
    }
    if (call.apiId !== null) this.#noteUse(call.apiId, call);
    if (call.httpStatus >= 400) noteRefusal(batch.refusals, call);
    batch.lines++;
    batch.characters += line.length;
  }

  /** The block of the call before is the most frequent answer. */
  #findBlock({ teamId, requestId, at }: LoggedCall, dash: number, digits: string): OpenBlock {
    const last = this.#last;
    if (last?.teamId === teamId && last.boot.length === dash && requestId.startsWith(last.boot)) return last;
    const boot = requestId.slice(0, dash);
    const found = this.#batch.open.get(`${boot} ${teamId}`);
    return found ? (this.#last = found) : this.#openBlock({ teamId, at }, boot, digits);
  }

  #openBlock({ teamId, at }: Pick<LoggedCall, 'teamId' | 'at'>, boot: string, digits: string): OpenBlock {
    this.#last = openBlock(teamId, boot, digits, at);
    this.#batch.open.set(`${boot} ${teamId}`, this.#last);
    return this.#last;
  }

  #noteUse(apiId: string, { teamId, at, client, isUrlCredential }: LoggedCall): void {
    let use = this.#lastUse?.apiId === apiId ? this.#lastUse : this.#batch.uses.get(apiId);
    if (!use)
      this.#batch.uses.set(apiId, (use = { teamId, apiId, usedAt: at, client: formatClient(client), usedInUrlAt: '' }));
    this.#lastUse = use;
    if (at >= use.usedAt) {
      use.usedAt = at;
      if (client !== use.client) use.client = formatClient(client);
    }
    if (isUrlCredential && at > use.usedInUrlAt) use.usedInUrlAt = at;
  }

  /** One flush at a time. The timer is set again while something waits. */
  #flush(): Promise<void> {
    return (this.#flushing ??= this.#saveAll().finally(() => {
      this.#flushing = undefined;
      if (this.#calls.length > 0 || this.#batch.lines > 0 || this.#queue.length > 0) this.#setTimer();
    }));
  }

  #setTimer(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, FLUSH_MS).unref();
  }

  async #saveAll(): Promise<void> {
    let tried = this.#recorded;
    this.#formatCalls();
    // While the store takes nothing, new calls stay in one batch instead of many small ones.
    if (await this.#saveQueue()) {
      tried = this.#recorded;
      this.#formatCalls();
      this.#enqueueBatch();
      await this.#saveQueue();
    }
    this.#tried = tried;
  }

  /** False when the store did not take a batch, which stays in the queue with those behind it. */
  async #saveQueue(): Promise<boolean> {
    try {
      this.#isSaving = true;
      for (let batch = this.#queue[0]; batch; batch = this.#queue[0]) {
        await this.#saveBatch(batch);
        this.#queue.shift();
      }
      return true;
    } catch {
      return false;
    } finally {
      this.#isSaving = false;
    }
  }

  async #saveBatch(batch: LogBatch): Promise<void> {
    // One tenant in a turn of the event loop.
    for (const [key, block] of batch.open) {
      batch.blocks.push(...this.#packer.pack(block));
      batch.open.delete(key);
      await nextTurn();
    }
    const blocks = await Promise.all(batch.blocks);
    await this.#store.addRequests(blocks, [...batch.refusals.values()], [...batch.uses.values()]);
  }

  #enqueueBatch(): void {
    if (this.#batch.lines === 0) return;
    this.#queue.push(this.#batch);
    this.#batch = openBatch();
    this.#last = undefined;
    this.#lastUse = undefined;
    while (this.#isOverfull()) {
      const [dropped] = this.#queue.splice(this.#isSaving ? 1 : 0, 1);
      this.#dropped += dropped!.lines;
    }
  }

  #isOverfull(): boolean {
    let [lines, characters] = [0, 0];
    for (const batch of this.#queue) {
      lines += batch.lines;
      characters += batch.characters;
    }
    return this.#queue.length > 1 && (lines > WAITING_LINES_MAX || characters > WAITING_CHARACTERS_MAX);
  }
}

function noteRefusal(refusals: Map<string, RefusalCount>, { teamId, at, operation }: LoggedCall): void {
  const day = at.slice(0, 10);
  const key = `${teamId} ${day} ${operation}`;
  const refusal = refusals.get(key);
  if (refusal) refusal.calls++;
  else refusals.set(key, { teamId, day, operation, calls: 1 });
}

/** A text that every store can hold. */
const formatClient = (client: string): string =>
  hideSecrets(cut(client, CLIENT_CHARACTERS_MAX)).toWellFormed().replaceAll('\0', '');
