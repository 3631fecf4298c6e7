/**
 * Bounds the work of the service: calls in flight, bytes of bodies, and bytes of responses that are not yet received
 * (connections.ts). Work beyond a bound is refused. Source: decision 0029.
 */
import { getHeapStatistics } from 'node:v8';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { every, type Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { refuseForNow } from '../../errors.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';

export type LoadLimits = Pick<
  Config,
  'inFlightMax' | 'tenantInFlightMax' | 'trafficBytesMax' | 'waitingMax' | 'tenantWaitingMax'
>;
/** Calls that share one bound. */
export type Lane = { calls: number; most: number };
export type TenantShare = { calls: number; answerBytes: number; waiting: number };
export interface BodyInRoom {
  bytes: number;
  /** The bodies in order of arrival: the first has been arriving for the longest time. */
  readonly arriving: Set<BodyInRoom>;
  readonly giveWay: () => void;
}

/** Cost of a body in addition to its bytes: its connection and its request. */
const BODY_COST_BYTES = 16 * 1024;
/**
 * Maximum sign-ins at a time. They have a separate bound, so that people can sign in while calls are refused. Far fewer
 * wait in a line (account/line.ts).
 */
const SIGN_IN_MAX = 1024;
/** While the event loop is more than LATE_MS late, fewer calls are accepted at a time, but LEAST if settings allow. */
const LATE_MS = 200;
const LOOK_MS = 100;
const LEAST = 256;
const LINE_MS = 1000;
/** Node keeps the bytes of responses until it collects garbage, which an idle process never does. */
const COLLECTED_BYTES_LEAST = 64 * 1024 * 1024;
const QUIET_MS = 10_000;
/** More garbage is collected at once. If V8's concurrent collection got too little processor time, calls would wait. */
const GARBAGE_BYTES_MAX = 320 * 1024 * 1024;

export class ServiceLoad {
  readonly calls: Lane;
  readonly signIns: Lane = { calls: 0, most: SIGN_IN_MAX };
  refused = 0;
  /** Calls that wait for a change. They are not in flight. */
  waiting = 0;
  readonly #ending: AbortSignal;
  readonly #limits: LoadLimits;
  readonly #log: FastifyBaseLogger;
  readonly #clock: Clock;
  readonly #shares = new Map<string, TenantShare>();
  readonly #known = new Set<BodyInRoom>();
  readonly #unknown = new Set<BodyInRoom>();
  #bodyBytes = 0;
  #answerBytes = 0;
  /** Bytes of large responses since the last collection, and the time at which the last one was received. */
  #uncollected = 0;
  #takenAt = 0;
  /** Minimum bytes of the used heap since the last forced collection. */
  #heapLeast = Infinity;
  #reported = 0;
  #dueAt = Infinity;

  /** `ending` ends all waits. */
  constructor(limits: LoadLimits, log: FastifyBaseLogger, clock: Clock, ending: AbortSignal) {
    this.#limits = limits;
    this.#ending = ending;
    this.#log = log;
    this.#clock = clock;
    this.calls = { calls: 0, most: limits.inFlightMax };
    every(clock, LOOK_MS, () => this.#adapt(clock.elapsed()));
  }

  /** Whether calls are refused. It is cheapest to refuse a call before it begins. */
  get isFull(): boolean {
    return this.calls.calls >= this.calls.most;
  }

  /** Counts a call that has arrived as in flight. Throws SERVICE_BUSY. */
  enter(request: FastifyRequest, lane: Lane = this.calls): void {
    if (lane.calls >= lane.most) throw refuseForNow('SERVICE_BUSY');
    lane.calls++;
    request.lane = lane;
  }

  /**
   * Counts the call for its tenant. The last quarter of the places is for tenants with few calls. Throws RATE_LIMITED.
   */
  enterTenant(request: FastifyRequest, { storeId }: Tenant): void {
    const share = this.#shares.getOrInsertComputed(storeId, () => ({ calls: 0, answerBytes: 0, waiting: 0 }));
    const { calls, most } = this.calls;
    if (calls > most * 0.75 && share.calls >= Math.min(this.#limits.tenantInFlightMax, most / 2))
      throw refuseForNow(
        'RATE_LIMITED',
        `The tenant has ${share.calls} calls in flight, and the service is busy. Send fewer calls at the same time.`,
      );
    share.calls++;
    request.share = share;
  }

  /**
   * Runs work that waits for a change, until the time is up, the caller disconnects, or the service stops. Meanwhile
   * the call is not in flight. Throws TOO_MANY_WAITING if too many calls of the tenant wait, and SERVICE_BUSY if too
   * many calls of all tenants wait.
   */
  async waitForChange<T>(
    request: FastifyRequest,
    ms: number,
    caller: AbortSignal,
    work: (ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const share = request.share!;
    const { waitingMax, tenantWaitingMax } = this.#limits;
    if (share.waiting >= tenantWaitingMax) throw refuseForNow('TOO_MANY_WAITING');
    if (this.waiting >= waitingMax) throw refuseForNow('SERVICE_BUSY', 'Too many calls are waiting for changes.');
    this.#leave(request);
    this.waiting++;
    share.waiting++;
    const timeIsUp = new AbortController();
    const timer = this.#clock.after(ms, () => timeIsUp.abort());
    try {
      return await work(AbortSignal.any([caller, timeIsUp.signal, this.#ending]));
    } finally {
      timer.close();
      this.waiting--;
      share.waiting--;
    }
  }

  /** Begins a body. `giveWay` runs when other bodies need its room; bodies of unknown callers give way first. */
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
    while (this.#bodyBytes > this.#limits.trafficBytesMax) {
      const [slowest] = this.#unknown.size > 0 ? this.#unknown : this.#known;
      if (!slowest) return;
      this.#endBody(slowest);
      slowest.giveWay();
    }
  }

  /**
   * Checks for room before a response is built, and before a large one is sent. Throws TOO_MANY_QUERIES if the tenant
   * has no more room, and SERVICE_BUSY if the service has none.
   */
  checkRoom({ share }: FastifyRequest, bytes = 0): void {
    const { trafficBytesMax: most } = this.#limits;
    const isFull = (taken: number, room: number) => taken > 0 && taken + bytes > room;
    if (share && isFull(share.answerBytes, most / 2))
      throw refuseForNow(
        'TOO_MANY_QUERIES',
        'Large responses to the tenant have not been read. Read them, then retry.',
      );
    if (isFull(this.#answerBytes, most)) throw refuseForNow('SERVICE_BUSY');
  }

  /** Counts the bytes of an unfinished response. */
  holdAnswer(request: FastifyRequest, bytes: number): void {
    this.#countAnswer(request, bytes - request.answerBytes);
  }

  /** Counts a call as no longer in flight. The bytes of its response, if it is large, count until they are received. */
  answered(request: FastifyRequest, bytes: number): void {
    this.#leave(request);
    this.holdAnswer(request, bytes);
  }

  /** Releases the resources of a request whose response is received or whose caller has disconnected. */
  closed(request: FastifyRequest): void {
    this.#leave(request);
    if (request.answerBytes > 0) {
      this.#uncollected += request.answerBytes;
      this.#takenAt = this.#clock.elapsed();
      this.#countAnswer(request, -request.answerBytes);
    }
    if (request.bodyInRoom) this.#endBody(request.bodyInRoom);
  }

  /** Counts a refusal. Logs at most one line a second about all refusals. */
  countRefusal(): void {
    if (this.refused++ !== this.#reported) return;
    const reportRefusals = () => {
      this.#log.warn({ refused: this.refused - this.#reported, inFlight: this.calls.calls }, 'SERVICE_BUSY');
      this.#reported = this.refused;
    };
    this.#clock.after(LINE_MS, reportRefusals);
  }

  #leave(request: FastifyRequest) {
    if (!request.lane) return;
    request.lane.calls--;
    request.lane = undefined;
    if (request.share) request.share.calls--;
  }

  #countAnswer(request: FastifyRequest, bytes: number) {
    request.answerBytes += bytes;
    this.#answerBytes += bytes;
    if (request.share) request.share.answerBytes += bytes;
  }

  #endBody(body: BodyInRoom) {
    body.arriving.delete(body);
    this.#bodyBytes -= body.bytes;
    body.bytes = 0;
  }

  #adapt(nowMs: number) {
    const { inFlightMax } = this.#limits;
    const most = nowMs - this.#dueAt > LATE_MS ? this.calls.most * 0.8 : this.calls.most + inFlightMax / 20;
    this.calls.most = Math.min(inFlightMax, Math.max(LEAST, Math.round(most)));
    this.#dueAt = nowMs + LOOK_MS;
    const heap = getHeapStatistics().used_heap_size;
    this.#heapLeast = Math.min(this.#heapLeast, heap);
    const isQuiet = this.#uncollected >= COLLECTED_BYTES_LEAST && nowMs - this.#takenAt >= QUIET_MS;
    if (isQuiet || heap - this.#heapLeast > GARBAGE_BYTES_MAX) this.#collect();
  }

  #collect() {
    this.#uncollected = 0;
    globalThis.gc?.();
    this.#heapLeast = getHeapStatistics().used_heap_size;
  }
}
