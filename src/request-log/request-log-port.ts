/** The port for logged requests, counts of refusals and last uses of keys. A method is one transaction or says so. */
import type { UsageCount } from '../tenant/tenant-port.ts';

export interface KeyUse {
  readonly apiId: string;
  readonly usedAt: string;
  readonly client: string;
  /** The last time its secret was sent in a URL; '' when it never was. */
  readonly usedInUrlAt: string;
}

/** The requests of one tenant within a second: their bounds for a search, and compressed lines of JSON. */
export interface RequestBlock {
  readonly teamId: string;
  /** The time of the last request, a space, and the first request ID: unique, and sorted by time. */
  readonly blockId: string;
  readonly firstAt: string;
  /** The part of the request IDs before the number, which identifies a node since its start. */
  readonly boot: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly lines: Uint8Array;
}

/** Refused calls (HTTP status 400 and above) by tenant, day and operation. */
export type RefusalCount = UsageCount;

export interface RequestStore {
  /** Saves all or nothing. No count or key may occur twice. A retry saves nothing if the first block is stored. */
  addRequests(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly (KeyUse & { teamId: string })[],
  ): Promise<void>;
  /** Loads blocks below `before` with requests within `from` and `to` ('' for no bound), newest first. */
  loadBlocks(
    teamId: string,
    range: { readonly before: string; readonly from: string; readonly to: string },
    limit: number,
  ): Promise<RequestBlock[]>;
  /** Finds the blocks that can contain this request of this boot, most likely first, at most 50. */
  findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]>;
  /** Loads the counts of refused calls by day and operation. */
  loadRefusals(teamId: string, month: string): Promise<RefusalCount[]>;
  loadKeyUses(teamId: string): Promise<KeyUse[]>;
  /** Deletes each tenant's oldest blocks above this many bytes, some per transaction. A block counts as 200 more. */
  trimRequests(bytesMax: number): Promise<void>;
  /** Deletes blocks that ended before this time, some per transaction. Keeps the counts and the uses of keys. */
  deleteRequestsBefore(before: string): Promise<void>;
}
