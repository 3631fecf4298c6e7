/**
 * The request log: every authenticated call becomes a line in memory, and a few times a second the lines of each tenant become a block in the store. Costs a
 * call next to nothing and never disturbs one: what cannot be stored waits, within bounds, and is then dropped and counted. Source: decision 0022.
 */
import { hideSecrets } from '../tenant/credentials.ts';
import type { LoggedCall, RequestDetailView, RequestsQuery, RequestsView } from './logged-request.ts';
import {
  addLine,
  BlockPacker,
  CLIENT_CHARACTERS_MAX,
  cut,
  nextTurn,
  openGathered,
  writeLine,
  type Gathered,
} from './lines.ts';
import { findRequest, searchRequests } from './search.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from './port.ts';

const FLUSH_MS = 250;
/** So many calls are written down together. */
const CALLS_PER_BATCH = 125;
/** So much is stored without waiting for the time to come. */
const BATCH_LINES = 5000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** So much waits for a store that does not take it. */
const WAITING_LINES_MAX = 20_000;
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
const DAY_MS = 86_400_000;

type TeamKeyUse = { -readonly [Name in keyof KeyUse]: KeyUse[Name] } & { readonly teamId: string };

/** What goes to the store together. */
interface Batch {
  readonly gathered: Map<string, Gathered>;
  readonly refusals: Map<string, RefusalCount>;
  readonly uses: Map<string, TeamKeyUse>;
  lines: number;
  characters: number;
  /** Those that are full, and in the end all. Kept for the next time when the store did not take them: the same ones, so that the store knows them. */
  readonly blocks: Promise<RequestBlock>[];
}

const openBatch = (): Batch => ({
  gathered: new Map(),
  refusals: new Map(),
  uses: new Map(),
  lines: 0,
  characters: 0,
  blocks: [],
});

export class RequestLog {
  readonly #store: RequestStore;
  readonly #keptDays: number;
  readonly #packer = new BlockPacker();
  /** Calls not yet written down: many at a time take a fraction of what each would in between its answer and the next request. */
  #taken: LoggedCall[] = [];
  #open = openBatch();
  /** Where the call before went, in the open batch. */
  #last: Gathered | undefined;
  #lastUse: TeamKeyUse | undefined;
  /** Batches that are full, or that the store did not take; the oldest first. */
  readonly #line: Batch[] = [];
  #isSending = false;
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #recorded = 0;
  #tried = 0;
  #dropped = 0;

  constructor(store: RequestStore, { keptDays }: { keptDays: number }) {
    this.#store = store;
    this.#keptDays = keptDays;
  }

  /** Calls that are in no log: the store did not take them for too long, or they could not be written down. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a call down. Returns at once and never throws. */
  record(call: LoggedCall): void {
    this.#recorded++;
    this.#taken.push(call);
    this.#setTimer();
    if (this.#taken.length < CALLS_PER_BATCH) return;
    this.#writeTaken();
    if (this.#open.lines < BATCH_LINES && this.#open.characters < BATCH_CHARACTERS) return;
    this.#closeBatch();
    void this.#flush();
  }

  /** Resolves when everything recorded so far is in the store, or the store has not taken it once. */
  async settled(): Promise<void> {
    const recorded = this.#recorded;
    while (this.#tried < recorded) await this.#flush();
  }

  /** A page of the tenant's requests, newest first. Throws INVALID_PARAMETER, INVALID_CURSOR, and what the store refuses. */
  async search(teamId: string, query: RequestsQuery, nowMs: number): Promise<RequestsView> {
    await this.settled();
    return { ...(await searchRequests(this.#store, teamId, query, this.#keptFrom(nowMs))), keptDays: this.#keptDays };
  }

  /** The request with this ID; undefined when there is none, also when it is too old and only still lies there. */
  async find(teamId: string, requestId: string, nowMs: number): Promise<RequestDetailView | undefined> {
    await this.settled();
    const found = await findRequest(this.#store, teamId, requestId);
    return found && found.at >= this.#keptFrom(nowMs) ? found : undefined;
  }

  /** Deletes what is older than the days it goes back. */
  deleteExpired(nowMs: number): Promise<void> {
    return this.#store.deleteRequestsBefore(this.#keptFrom(nowMs));
  }

  #keptFrom(nowMs: number): string {
    return new Date(nowMs - this.#keptDays * DAY_MS).toISOString();
  }

  #writeTaken(): void {
    const taken = this.#taken;
    this.#taken = [];
    for (const call of taken)
      try {
        const dash = call.requestId.lastIndexOf('-');
        const digits = call.requestId.slice(dash + 1);
        if (digits === '') throw new TypeError('This is no request ID.');
        this.#gather(call, dash, digits, writeLine(digits, call));
      } catch {
        this.#dropped++;
      }
  }

  #gather(call: LoggedCall, dash: number, digits: string, line: string): void {
    const batch = this.#open;
    let gathered = this.#findGathered(call, dash, digits);
    if (!addLine(gathered, digits, call.at, line)) {
      batch.blocks.push(...this.#packer.pack(gathered));
      gathered = this.#openGathered(call, gathered.boot, digits);
      addLine(gathered, digits, call.at, line);
    }
    if (call.apiId !== null) this.#noteUse(call.apiId, call);
    if (call.httpStatus >= 400) noteRefusal(batch.refusals, call);
    batch.lines++;
    batch.characters += line.length;
  }

  /** Most often it is that of the call before. */
  #findGathered({ teamId, requestId, at }: LoggedCall, dash: number, digits: string): Gathered {
    const last = this.#last;
    if (last?.teamId === teamId && last.boot.length === dash && requestId.startsWith(last.boot)) return last;
    const boot = requestId.slice(0, dash);
    const found = this.#open.gathered.get(`${boot} ${teamId}`);
    return found ? (this.#last = found) : this.#openGathered({ teamId, at }, boot, digits);
  }

  #openGathered({ teamId, at }: Pick<LoggedCall, 'teamId' | 'at'>, boot: string, digits: string): Gathered {
    this.#last = openGathered(teamId, boot, digits, at);
    this.#open.gathered.set(`${boot} ${teamId}`, this.#last);
    return this.#last;
  }

  #noteUse(apiId: string, { teamId, at, client, isUrlCredential }: LoggedCall): void {
    let use = this.#lastUse?.apiId === apiId ? this.#lastUse : this.#open.uses.get(apiId);
    if (!use)
      this.#open.uses.set(apiId, (use = { teamId, apiId, usedAt: at, client: formatClient(client), usedInUrlAt: '' }));
    this.#lastUse = use;
    if (at >= use.usedAt) {
      use.usedAt = at;
      if (client !== use.client) use.client = formatClient(client);
    }
    if (isUrlCredential && at > use.usedInUrlAt) use.usedInUrlAt = at;
  }

  /** One at a time; the timer comes again while something waits. */
  #flush(): Promise<void> {
    return (this.#flushing ??= this.#send().finally(() => {
      this.#flushing = undefined;
      if (this.#taken.length > 0 || this.#open.lines > 0 || this.#line.length > 0) this.#setTimer();
    }));
  }

  #setTimer(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, FLUSH_MS).unref();
  }

  async #send(): Promise<void> {
    let tried = this.#recorded;
    this.#writeTaken();
    // While the store takes nothing, what comes in gathers in one batch instead of many small ones.
    if (await this.#sendLine()) {
      tried = this.#recorded;
      this.#writeTaken();
      this.#closeBatch();
      await this.#sendLine();
    }
    this.#tried = tried;
  }

  /** False when the store did not take a batch: it and those behind it go on waiting. */
  async #sendLine(): Promise<boolean> {
    try {
      this.#isSending = true;
      for (let batch = this.#line[0]; batch; batch = this.#line[0]) {
        await this.#sendBatch(batch);
        this.#line.shift();
      }
      return true;
    } catch {
      return false;
    } finally {
      this.#isSending = false;
    }
  }

  async #sendBatch(batch: Batch): Promise<void> {
    // One a turn of the event loop, however many tenants there are.
    for (const [key, gathered] of batch.gathered) {
      batch.blocks.push(...this.#packer.pack(gathered));
      batch.gathered.delete(key);
      await nextTurn();
    }
    await this.#store.addRequests(
      await Promise.all(batch.blocks),
      [...batch.refusals.values()],
      [...batch.uses.values()],
    );
  }

  #closeBatch(): void {
    if (this.#open.lines === 0) return;
    this.#line.push(this.#open);
    this.#open = openBatch();
    this.#last = undefined;
    this.#lastUse = undefined;
    while (this.#isOverfull()) {
      const [dropped] = this.#line.splice(this.#isSending ? 1 : 0, 1);
      this.#dropped += dropped!.lines;
    }
  }

  #isOverfull(): boolean {
    let [lines, characters] = [0, 0];
    for (const batch of this.#line) {
      lines += batch.lines;
      characters += batch.characters;
    }
    return this.#line.length > 1 && (lines > WAITING_LINES_MAX || characters > WAITING_CHARACTERS_MAX);
  }
}

function noteRefusal(refusals: Map<string, RefusalCount>, { teamId, at, operation }: LoggedCall): void {
  const day = at.slice(0, 10);
  const key = `${teamId} ${day} ${operation}`;
  const refusal = refusals.get(key);
  if (refusal) refusal.calls++;
  else refusals.set(key, { teamId, day, operation, calls: 1 });
}

/** As every store can hold it: this one is no part of a block. */
const formatClient = (client: string): string =>
  hideSecrets(cut(client, CLIENT_CHARACTERS_MAX)).toWellFormed().replaceAll('\0', '');
