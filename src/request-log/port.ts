/**
 * Port: the request log as blocks of compressed lines, with counts of refusals and the last use of each key. Implemented under store/. Types only.
 * One method is one transaction and one durable fact.
 */
import type { UsageCount } from '../tenant/port.ts';

/** The last calls with a key, as far as the request log has been told. */
export interface KeyUse {
  readonly apiId: string;
  readonly usedAt: string;
  readonly client: string;
  /** '' when its secret never came in a URL. */
  readonly usedInUrlAt: string;
}

/** A run of requests of one tenant, as the request log keeps them: what they are found by, and themselves as compressed lines of JSON. */
export interface RequestBlock {
  readonly teamId: string;
  /** Time of the last request, a space, and its first request ID: unique, and in the order of time. */
  readonly blockId: string;
  /** Time of the first request. */
  readonly firstAt: string;
  /** The part of the request IDs before the number, which is a node's since its start, and the numbers. */
  readonly boot: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly lines: Uint8Array;
}

/** Refused calls of one tenant, day and operation: an HTTP status of 400 and more. */
export type RefusalCount = UsageCount;

export interface RequestStore {
  /**
   * Adds blocks, counts of refusals and uses of keys (each count and key once), all or nothing. One block is one row. Called again because its outcome
   * was unknown, it adds nothing: it has been done when its first block is there.
   */
  addRequests(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly (KeyUse & { teamId: string })[],
  ): Promise<void>;
  /**
   * Blocks whose blockId is below `before`, whose last request is not before `from` and whose first is not after `to` ('' for no bound), those with the
   * newest last request first.
   */
  loadBlocks(
    teamId: string,
    range: { readonly before: string; readonly from: string; readonly to: string },
    limit: number,
  ): Promise<RequestBlock[]>;
  /** Blocks that may hold the request with this number of this boot, likeliest first, at most 50. */
  findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]>;
  /** By day and operation. */
  loadRefusals(teamId: string, month: string): Promise<RefusalCount[]>;
  loadKeyUses(teamId: string): Promise<KeyUse[]>;
  /**
   * Forgets blocks whose last request was before this time. Returns once all are gone, without holding up anybody for long. Counts of refusals and uses
   * of keys stay.
   */
  deleteRequestsBefore(before: string): Promise<void>;
}
