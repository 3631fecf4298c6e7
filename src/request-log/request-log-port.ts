/** Port: the request log as blocks of lines, counts of refused calls, last uses of keys. A method is a transaction. */
import type { UsageCount } from '../tenant/tenant-port.ts';

/** The last use of a key. */
export interface KeyUse {
  readonly apiId: string;
  readonly usedAt: string;
  readonly client: string;
  /** '' when its secret never came in a URL. */
  readonly usedInUrlAt: string;
}

/** Requests of one tenant within a second: their bounds for a search, and compressed lines of JSON. */
export interface RequestBlock {
  readonly teamId: string;
  /** Time of the last request, a space, and the first request ID: unique, and sorted by time. */
  readonly blockId: string;
  /** Time of the first request. */
  readonly firstAt: string;
  /** The part of the request IDs before the number: one node since its start. */
  readonly boot: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly lines: Uint8Array;
}

/** Refused calls (HTTP status 400 and above) by tenant, day and operation. */
export type RefusalCount = UsageCount;

export interface RequestStore {
  /** Inserts all or none; each count and key once. A retry adds nothing when the first block is already there. */
  addRequests(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly (KeyUse & { teamId: string })[],
  ): Promise<void>;
  /** Blocks below `before`, with requests within `from` and `to` ('' for no bound), newest first. */
  loadBlocks(
    teamId: string,
    range: { readonly before: string; readonly from: string; readonly to: string },
    limit: number,
  ): Promise<RequestBlock[]>;
  /** Blocks that can hold the request with this number of this boot, likeliest first, at most 50. */
  findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]>;
  /** By day and operation. */
  loadRefusals(teamId: string, month: string): Promise<RefusalCount[]>;
  loadKeyUses(teamId: string): Promise<KeyUse[]>;
  /** Deletes the oldest blocks of each tenant above this many bytes, a few at a time. A block counts as 200 more. */
  trimRequests(bytesMax: number): Promise<void>;
  /** Deletes blocks that ended before this time, a few at a time. Counts and uses of keys stay. */
  deleteRequestsBefore(before: string): Promise<void>;
}
