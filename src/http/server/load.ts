/**
 * What the service has taken on: calls in flight, bytes of bodies, bytes of answers not yet taken. What goes beyond a
 * bound is refused. Source: docs/decisions/0029.
 */
import { getHeapStatistics } from 'node:v8';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { every, type Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';

export type LoadLimits = Pick<Config, 'inFlightMost' | 'tenantInFlightMost' | 'trafficBytesMost'>;
/** Calls that share one bound. */
export type Lane = { calls: number; most: number };
export type TenantShare = { calls: number; answerBytes: number };
export interface BodyInRoom {
  bytes: number;
  /** In order of arrival: the first has been arriving longest. */
  readonly arriving: Set<BodyInRoom>;
  readonly giveWay: () => void;
}

/** What a body costs beside its bytes: its connection and its request. */
const BODY_COST_BYTES = 16 * 1024;
/** Attempts to sign in have a bound of their own, so that people get in when calls are refused. */
const SIGN_IN_MOST = 64;
/** A loop that is late by so many milliseconds takes fewer calls at a time, but never fewer than the least. */
const LATE_MS = 200;
const LOOK_MS = 100;
const LEAST = 256;
const LINE_MS = 1000;
/** Node keeps the bytes of answers until it collects garbage, and an idle process never does. */
const COLLECTED_BYTES_LEAST = 64 * 1024 * 1024;
const QUIET_MS = 10_000;
/** V8 collects beside the calls. Where it gets too little processor time for that, they wait for it. */
const GARBAGE_BYTES_MOST = 320 * 1024 * 1024;
const RETRY = { retryAfterSeconds: 1 };

export class Load {
  readonly calls: Lane;
  readonly signIns: Lane = { calls: 0, most: SIGN_IN_MOST };
  /** Requests refused because the service was busy. */
  refused = 0;
  readonly #limits: LoadLimits;
  readonly #log: FastifyBaseLogger;
  readonly #clock: Clock;
  readonly #shares = new Map<string, TenantShare>();
  readonly #known = new Set<BodyInRoom>();
  readonly #unknown = new Set<BodyInRoom>();
  #bodyBytes = 0;
  #answerBytes = 0;
  /** Of large answers since garbage was last collected, and when the last of them was taken. */
  #uncollected = 0;
  #takenAt = 0;
  /** Bytes of the heap when the last garbage was collected. */
  #heapLeast = Infinity;
  #reported = 0;
  #dueAt = Infinity;

  constructor(limits: LoadLimits, log: FastifyBaseLogger, clock: Clock) {
    this.#limits = limits;
    this.#log = log;
    this.#clock = clock;
    this.calls = { calls: 0, most: limits.inFlightMost };
    every(clock, LOOK_MS, () => this.#adapt(clock.elapsed()));
  }

  /** Whether calls are refused: the cheapest way to do so is not to begin them. */
  get isFull(): boolean {
    return this.calls.calls >= this.calls.most;
  }

  /** Counts a call that has arrived as in flight. Throws SERVICE_BUSY. */
  enter(request: FastifyRequest, lane: Lane = this.calls): void {
    if (lane.calls >= lane.most) throw new Refusal('SERVICE_BUSY', undefined, RETRY);
    lane.calls++;
    request.lane = lane;
  }

  /** Counts it as one of its tenant. The last quarter of the places is for tenants that have few. RATE_LIMITED. */
  enterTenant(request: FastifyRequest, { storeId }: Tenant): void {
    let share = this.#shares.get(storeId);
    if (!share) this.#shares.set(storeId, (share = { calls: 0, answerBytes: 0 }));
    const { calls, most } = this.calls;
    if (calls > most * 0.75 && share.calls >= Math.min(this.#limits.tenantInFlightMost, most / 2))
      throw new Refusal('RATE_LIMITED', `${share.calls} calls of the tenant are in flight; others need room.`, RETRY);
    share.calls++;
    request.share = share;
  }

  /** Takes in a body. `giveWay` runs when others need the room; callers not yet known give way first. */
  beginBody(request: FastifyRequest, giveWay: () => void): BodyInRoom {
    const body = { bytes: 0, arriving: request.tenant ? this.#known : this.#unknown, giveWay };
    body.arriving.add(body);
    request.bodyInRoom = body;
    this.growBody(body, BODY_COST_BYTES);
    return body;
  }

  growBody(body: BodyInRoom, bytes: number): void {
    body.bytes += bytes;
    this.#bodyBytes += bytes;
    while (this.#bodyBytes > this.#limits.trafficBytesMost) {
      const [slowest] = this.#unknown.size > 0 ? this.#unknown : this.#known;
      if (!slowest) return;
      this.#endBody(slowest);
      slowest.giveWay();
    }
  }

  /** Before a large answer is made or sent: is there room? TOO_MANY_QUERIES for the tenant, SERVICE_BUSY in all. */
  checkRoom({ share }: FastifyRequest, bytes = 0): void {
    const { trafficBytesMost: most } = this.#limits;
    const isFull = (taken: number, room: number): boolean => taken > 0 && taken + bytes > room;
    if (share && isFull(share.answerBytes, most / 2))
      throw new Refusal(
        'TOO_MANY_QUERIES',
        'Answers to the tenant wait to be taken: read them, then ask again.',
        RETRY,
      );
    if (isFull(this.#answerBytes, most)) throw new Refusal('SERVICE_BUSY', undefined, RETRY);
  }

  /** An answer that is still worked on has so many bytes; they count. */
  holdAnswer(request: FastifyRequest, bytes: number): void {
    this.#countAnswer(request, bytes - request.answerBytes);
  }

  /** The answer is made: the call is no longer in flight. Its bytes, if it is large, count until they are taken. */
  answered(request: FastifyRequest, bytes: number): void {
    this.#leave(request);
    this.holdAnswer(request, bytes);
  }

  /** The answer is taken, or nobody is there to take it. */
  closed(request: FastifyRequest): void {
    this.#leave(request);
    if (request.answerBytes > 0) {
      this.#uncollected += request.answerBytes;
      this.#takenAt = this.#clock.elapsed();
      this.#countAnswer(request, -request.answerBytes);
    }
    if (request.bodyInRoom) this.#endBody(request.bodyInRoom);
  }

  /** Counts a refusal. The log gets one line a second about all of them. */
  countRefusal(): void {
    if (this.refused++ !== this.#reported) return;
    const report = (): void => {
      this.#log.warn({ refused: this.refused - this.#reported, inFlight: this.calls.calls }, 'SERVICE_BUSY');
      this.#reported = this.refused;
    };
    this.#clock.after(LINE_MS, report);
  }

  #leave(request: FastifyRequest): void {
    if (!request.lane) return;
    request.lane.calls--;
    request.lane = undefined;
    if (request.share) request.share.calls--;
  }

  #countAnswer(request: FastifyRequest, bytes: number): void {
    request.answerBytes += bytes;
    this.#answerBytes += bytes;
    if (request.share) request.share.answerBytes += bytes;
  }

  #endBody(body: BodyInRoom): void {
    body.arriving.delete(body);
    this.#bodyBytes -= body.bytes;
    body.bytes = 0;
  }

  #adapt(nowMs: number): void {
    const { inFlightMost } = this.#limits;
    const most = nowMs - this.#dueAt > LATE_MS ? this.calls.most * 0.8 : this.calls.most + inFlightMost / 20;
    this.calls.most = Math.min(inFlightMost, Math.max(LEAST, Math.round(most)));
    this.#dueAt = nowMs + LOOK_MS;
    const heap = getHeapStatistics().used_heap_size;
    this.#heapLeast = Math.min(this.#heapLeast, heap);
    const isQuiet = this.#uncollected >= COLLECTED_BYTES_LEAST && nowMs - this.#takenAt >= QUIET_MS;
    if (isQuiet || heap - this.#heapLeast > GARBAGE_BYTES_MOST) this.#collect();
  }

  #collect(): void {
    this.#uncollected = 0;
    globalThis.gc?.();
    this.#heapLeast = getHeapStatistics().used_heap_size;
  }
}
