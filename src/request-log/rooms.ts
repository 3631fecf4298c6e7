/**
 * Which lines the request log keeps: each tenant has a rate and a room in memory of its own, so that a flood of one
 * never costs another a line. Source: decision 0022.
 */

/** A tenant that was quiet may log so many seconds' worth of lines at once. */
const BURST_SECONDS = 10;
/** What waits for the store, of all tenants. */
const WAITING_LINES_MAX = 20_000;
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** What a tenant has for itself even when others take all the rest. */
const OWN_LINES = 256;
const OWN_CHARACTERS = 128 * 1024;

interface Waiting {
  lines: number;
  characters: number;
}

export interface Room {
  /** Of all batches. */
  readonly waiting: Waiting;
  /** Of the open batch. */
  readonly open: Waiting;
  /** Lines it may log now. */
  tokens: number;
  filledAt: number;
}

/** What a batch holds of a tenant. */
export type RoomPart = Waiting & { readonly room: Room };

export class Rooms {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #rooms = new Map<string, Room>();
  readonly #waiting: Waiting = { lines: 0, characters: 0 };
  /** With lines in the open batch, and with lines that wait. */
  readonly #open = new Set<Room>();
  readonly #held = new Set<Room>();

  constructor(linesPerSecond: number) {
    this.#perSecond = linesPerSecond;
    this.#burst = linesPerSecond * BURST_SECONDS;
  }

  get waitingLines(): number {
    return this.#waiting.lines;
  }

  find(teamId: string): Room {
    let room = this.#rooms.get(teamId);
    if (!room) {
      room = { waiting: nothing(), open: nothing(), tokens: this.#burst, filledAt: -Infinity };
      this.#rooms.set(teamId, room);
    }
    return room;
  }

  /** Takes a line out of the tenant's rate. Refusals leave the second half of a burst to calls that succeed. */
  take(room: Room, isRefusal: boolean, nowMs: number): boolean {
    const tokens = Math.min(this.#burst, room.tokens + ((nowMs - room.filledAt) / 1000) * this.#perSecond);
    room.filledAt = nowMs;
    const isWithin = tokens >= (isRefusal ? this.#burst / 2 + 1 : 1);
    room.tokens = isWithin ? tokens - 1 : tokens;
    return isWithin;
  }

  /** A tenant alone can have half of the memory, two a third each: there is always something left for one more. */
  hasSpace({ waiting }: Room): boolean {
    if (waiting.lines < OWN_LINES && waiting.characters < OWN_CHARACTERS) return true;
    const { lines, characters } = this.#waiting;
    if (lines >= WAITING_LINES_MAX || characters >= WAITING_CHARACTERS_MAX) return false;
    const shares = this.#held.size + 1;
    return waiting.lines < WAITING_LINES_MAX / shares && waiting.characters < WAITING_CHARACTERS_MAX / shares;
  }

  /** Notes a line in the open batch. */
  add(room: Room, characters: number): void {
    grow(room.open, 1, characters);
    grow(room.waiting, 1, characters);
    grow(this.#waiting, 1, characters);
    if (room.open.lines > 1) return;
    this.#open.add(room);
    this.#held.add(room);
  }

  /** Closes the open batch. */
  close(): RoomPart[] {
    const parts = [...this.#open].map((room) => ({ room, ...room.open }));
    for (const { open } of this.#open) open.lines = open.characters = 0;
    this.#open.clear();
    return parts;
  }

  /** A batch is in the store. */
  release(parts: readonly RoomPart[]): void {
    for (const { room, lines, characters } of parts) {
      grow(room.waiting, -lines, -characters);
      grow(this.#waiting, -lines, -characters);
      if (room.waiting.lines === 0) this.#held.delete(room);
    }
  }
}

const nothing = (): Waiting => ({ lines: 0, characters: 0 });

function grow(waiting: Waiting, lines: number, characters: number): void {
  waiting.lines += lines;
  waiting.characters += characters;
}
