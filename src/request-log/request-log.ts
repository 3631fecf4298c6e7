/**
 * The request log: authenticated calls become lines in memory, and four times a second the lines become blocks in the
 * store. Calls never wait: what is beyond a bound is counted and not kept. Source: decision 0022.
 */
import type { Clock, Timer } from '../clock.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { hideSecrets } from '../tenant/secrets.ts';
import type { LoggedCall, FoundRequestDetail, RequestsQuery, FoundRequests } from './logged-request.ts';
import { addLine, BlockPacker, CLIENT_CHARACTERS_MAX } from './lines.ts';
import { formatLine, nextTurn, openBlock, type OpenBlock } from './lines.ts';
import { findRequest, searchRequests } from './search.ts';
import { Rooms, type Room, type RoomPart } from './rooms.ts';
import { cut } from './texts.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from './request-log-port.ts';

const FLUSH_MS = 250;
/** Calls are formatted this many at a time. */
const CALLS_PER_BATCH = 125;
/** Of the bodies of these calls. */
const BODY_CHARACTERS_PER_BATCH = 1024 * 1024;
/** A batch of this size is saved at once. */
const BATCH_LINES = 5000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** The oldest blocks are deleted each time so many bytes have been added, or an eighth of what a tenant may have. */
const TRIM_BYTES = 4 * 1024 * 1024;
const DAY_MS = 86_400_000;

type LoggedTenant = Pick<Tenant, 'teamId' | 'createdAt'>;
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
  parts: RoomPart[];
}

export interface RequestLogOptions {
  readonly requestLogDays: number;
  /** Megabytes of each tenant in the store. */
  readonly requestLogMb: number;
  /** Lines a second of each tenant on this node. */
  readonly requestLogRate: number;
  /** Whether the disk has room for the log. Without it, it always has. */
  readonly hasDisk?: () => boolean;
  readonly clock: Clock;
}

const openBatch = (): LogBatch => {
  return { open: new Map(), refusals: new Map(), uses: new Map(), lines: 0, characters: 0, blocks: [], parts: [] };
};

export class RequestLog {
  readonly #store: RequestStore;
  readonly #options: RequestLogOptions;
  readonly #rooms: Rooms;
  readonly #packer = new BlockPacker();
  /** Calls to format. Many at a time take a fraction of what each would between its answer and the next request. */
  #calls: LoggedCall[] = [];
  #bodyCharacters = 0;
  #batch = openBatch();
  /** The block of the call before, in the open batch. */
  #last: OpenBlock | undefined;
  #lastUse: TeamKeyUse | undefined;
  /** Batches that are full, or that the store did not take, oldest first. */
  readonly #queue: LogBatch[] = [];
  #flushing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #recorded = 0;
  #tried = 0;
  /** Calls that are in no log: the store did not take them, or they could not be formatted. */
  dropped = 0;
  /** Calls that are in no log: their tenant made more in a second than it may log. */
  beyondRate = 0;
  /** Whether the store, or its disk, took no lines when it was last asked. */
  isStopped = false;
  /** Bytes in the store since the oldest were last deleted. */
  #added = 0;

  constructor(store: RequestStore, options: RequestLogOptions) {
    this.#store = store;
    this.#options = options;
    this.#rooms = new Rooms(options.requestLogRate);
  }

  /** Lines that wait for the store. */
  get waiting(): number {
    return this.#rooms.waitingLines;
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
    void this.#flush();
  }

  /** Resolves when everything recorded so far is in the store, or the store has failed to take it once. */
  async settled(): Promise<void> {
    const recorded = this.#recorded;
    while (this.#tried < recorded) await this.#flush();
  }

  /** A page, newest first. Throws INVALID_PARAMETER, INVALID_CURSOR, and what the store refuses. */
  async search(tenant: LoggedTenant, query: RequestsQuery, nowMs: number): Promise<FoundRequests> {
    await this.settled();
    return {
      ...(await searchRequests(this.#store, tenant.teamId, query, this.#shownFrom(tenant, nowMs))),
      keptDays: this.#options.requestLogDays,
    };
  }

  /** The request with this ID; undefined when there is none or it is too old to be shown. */
  async find(tenant: LoggedTenant, requestId: string, nowMs: number): Promise<FoundRequestDetail | undefined> {
    await this.settled();
    const found = await findRequest(this.#store, tenant.teamId, requestId);
    return found && found.at >= this.#shownFrom(tenant, nowMs) ? found : undefined;
  }

  /** Deletes requests older than the days the log keeps. */
  deleteExpired(nowMs: number): Promise<void> {
    return this.#store.deleteRequestsBefore(this.#keptFrom(nowMs));
  }

  /** Of a tenant that was removed, and made anew under its name, a line may have been saved after the removal. */
  #shownFrom({ createdAt }: LoggedTenant, nowMs: number): string {
    const keptFrom = this.#keptFrom(nowMs);
    return createdAt > keptFrom ? createdAt : keptFrom;
  }

  #keptFrom(nowMs: number): string {
    return new Date(nowMs - this.#options.requestLogDays * DAY_MS).toISOString();
  }

  #formatCalls(): void {
    const calls = this.#calls;
    this.#calls = [];
    this.#bodyCharacters = 0;
    const nowMs = this.#options.clock.elapsed();
    for (const call of calls)
      try {
        const dash = call.requestId.lastIndexOf('-');
        const digits = call.requestId.slice(dash + 1);
        if (digits === '') throw new TypeError('This is no request ID.');
        if (call.apiId !== null) this.#noteUse(call.apiId, call);
        if (call.httpStatus >= 400) noteRefusal(this.#batch.refusals, call);
        const room = this.#rooms.find(call.teamId);
        if (!this.#rooms.hasSpace(room)) this.dropped++;
        else if (!this.#rooms.take(room, call.httpStatus >= 400, nowMs)) this.beyondRate++;
        else this.#gather(call, dash, digits, room);
      } catch {
        this.dropped++;
      }
  }

  #gather(call: LoggedCall, dash: number, digits: string, room: Room): void {
    const batch = this.#batch;
    const line = formatLine(digits, call);
    let block = this.#findBlock(call, dash, digits);
    if (!addLine(block, digits, call.at, line)) {
      batch.blocks.push(...this.#packer.pack(block));
      block = this.#openBlock(call, block.boot, digits);
      addLine(block, digits, call.at, line);
    }
    this.#rooms.add(room, line.length);
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
    this.#timer = this.#options.clock.after(FLUSH_MS, () => {
      this.#timer = undefined;
      void this.#flush();
    });
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
    this.isStopped = this.#options.hasDisk?.() === false;
    if (this.isStopped) return false;
    try {
      for (let batch = this.#queue[0]; batch; batch = this.#queue[0]) {
        await this.#saveBatch(batch);
        this.#rooms.release(batch.parts);
        this.#queue.shift();
      }
    } catch {
      this.isStopped = true;
      return false;
    }
    const bytesMax = this.#options.requestLogMb * 1024 * 1024;
    if (this.#added < Math.min(TRIM_BYTES, bytesMax / 8)) return true;
    // A store that does not delete now is asked again after the next batch.
    const done = this.#store.trimRequests(bytesMax).then(() => void (this.#added = 0));
    await done.catch(() => undefined);
    return true;
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
    for (const { lines } of blocks) this.#added += lines.length;
  }

  /** Without a line it stays open, since the store knows a batch by its first block. Its counts are small. */
  #enqueueBatch(): void {
    if (this.#batch.lines === 0) return;
    this.#batch.parts = this.#rooms.close();
    this.#queue.push(this.#batch);
    this.#batch = openBatch();
    this.#last = undefined;
    this.#lastUse = undefined;
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
