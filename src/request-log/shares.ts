/**
 * Decides which lines the request log keeps: each tenant has a rate, and a share of the memory for lines that wait, so
 * that a flood of one tenant never displaces another's lines. Source: decision 0022.
 */

/** The burst of a tenant's rate: a quiet tenant may log the lines of this many seconds at once. */
const BURST_SECONDS = 10;
/** Maximum lines of all tenants that wait for the store. */
const WAITING_LINES_MAX = 20_000;
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** The minimum share of a tenant, even if other tenants use all the rest. */
const OWN_LINES = 256;
const OWN_CHARACTERS = 128 * 1024;

/** Lines that wait for the store. */
interface Waiting {
  lines: number;
  characters: number;
}

/** The waiting lines of a tenant, and the lines that it may log now. */
export interface LogShare extends Waiting {
  tokens: number;
  filledAt: number;
}

/** The lines of each tenant in a batch. */
export type BatchShares = Map<LogShare, Waiting>;

export class LogShares {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #shares = new Map<string, LogShare>();
  readonly #waiting: Waiting = { lines: 0, characters: 0 };
  /** The number of tenants with lines that wait. */
  #tenants = 0;

  constructor(linesPerSecond: number) {
    this.#perSecond = linesPerSecond;
    this.#burst = linesPerSecond * BURST_SECONDS;
  }

  get waitingLines(): number {
    return this.#waiting.lines;
  }

  findShare(teamId: string): LogShare {
    const unused = () => ({ lines: 0, characters: 0, tokens: this.#burst, filledAt: -Infinity });
    return this.#shares.getOrInsertComputed(teamId, unused);
  }

  /** Takes a token for a line and returns whether one was left. Refused calls leave half of a burst to other calls. */
  takeToken(share: LogShare, isRefusal: boolean, nowMs: number): boolean {
    const tokens = Math.min(this.#burst, share.tokens + ((nowMs - share.filledAt) / 1000) * this.#perSecond);
    share.filledAt = nowMs;
    const isWithin = tokens >= (isRefusal ? this.#burst / 2 + 1 : 1);
    share.tokens = isWithin ? tokens - 1 : tokens;
    return isWithin;
  }

  /** Returns whether a line fits. One tenant can use half of the memory, two a third each, so some is always left. */
  hasSpace(share: LogShare): boolean {
    if (share.lines < OWN_LINES && share.characters < OWN_CHARACTERS) return true;
    const { lines, characters } = this.#waiting;
    if (lines >= WAITING_LINES_MAX || characters >= WAITING_CHARACTERS_MAX) return false;
    const parts = this.#tenants + 1;
    return share.lines < WAITING_LINES_MAX / parts && share.characters < WAITING_CHARACTERS_MAX / parts;
  }

  countLine(batch: BatchShares, share: LogShare, characters: number): void {
    if (share.lines === 0) this.#tenants++;
    const part = batch.getOrInsertComputed(share, () => ({ lines: 0, characters: 0 }));
    for (const waiting of [part, share, this.#waiting]) {
      waiting.lines++;
      waiting.characters += characters;
    }
  }

  /** Frees the memory of a batch that the store has saved. */
  release(batch: BatchShares): void {
    for (const [share, { lines, characters }] of batch) {
      for (const waiting of [share, this.#waiting]) {
        waiting.lines -= lines;
        waiting.characters -= characters;
      }
      if (share.lines === 0) this.#tenants--;
    }
  }
}
