/**
 * Ports: the control data beside the tenants' inventory systems: tenants, keys, usage, the request log. Implemented under store/. Types only.
 * One method is one transaction and one durable fact; what has an `entry` writes it into the audit log in that same transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from './audit.ts';

/** What an administrator can set for a tenant. */
export interface TenantSettings {
  /** ORDER_TYPE of an order that sends none. */
  defaultStage: 'worksheet' | 'quote' | 'sales_order';
  /** Whether PART_CODE, CUSTOMER_CODE and LOCATION_CODE must exist. */
  strict: boolean;
  /** Calls a calendar month (UTC); null: no limit. */
  monthQuota: number | null;
  /** Calls a second; null: no limit. */
  callsPerSecond: number | null;
}

export interface Tenant extends TenantSettings {
  readonly teamId: string;
  readonly name: string;
  readonly createdAt: string;
  /** Names the tenant's inventory system; a tenant made anew under an old teamID has another. */
  readonly storeId: string;
}

/** A tenant and the hash of the secret that belongs to the apiID it was found by. */
export interface Caller {
  readonly tenant: Tenant;
  readonly secretHash: Uint8Array;
}

/** Calls of one tenant, day (UTC, `2026-11-20`) and operation. */
export interface UsageCount {
  readonly teamId: string;
  readonly day: string;
  readonly operation: string;
  calls: number;
}

export interface MonthUsage {
  readonly total: number;
  readonly byDay: { day: string; operation: string; calls: number }[];
}

/** A key as people are shown it. */
export interface KeyView {
  readonly apiId: string;
  readonly issuedAt: string;
  /** E-mail address of the user, or `command line`; '' where it was not kept yet. */
  readonly issuedBy: string;
  /** '' for the pair in force; the time at which a replaced one ends. */
  readonly endsAt: string;
}

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
  addRequests(blocks: readonly RequestBlock[], refusals: readonly RefusalCount[], uses: readonly (KeyUse & { teamId: string })[]): Promise<void>;
  /**
   * Blocks whose blockId is below `before`, whose last request is not before `from` and whose first is not after `to` ('' for no bound), those with the
   * newest last request first.
   */
  readBlocks(teamId: string, range: { readonly before: string; readonly from: string; readonly to: string }, limit: number): Promise<RequestBlock[]>;
  /** Blocks that may hold the request with this number of this boot, likeliest first, at most 50. */
  findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]>;
  /** By day and operation. */
  readRefusals(teamId: string, month: string): Promise<RefusalCount[]>;
  readKeyUses(teamId: string): Promise<KeyUse[]>;
  /**
   * Forgets blocks whose last request was before this time. Returns once all are gone, without holding up anybody for long. Counts of refusals and uses
   * of keys stay.
   */
  forgetRequests(before: string): Promise<void>;
}

export interface TenantStore {
  /** The caller with this team and apiID, read anew every time; undefined when either is unknown or the key has ended. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>>;
  updateTenant(teamId: string, settings: TenantSettings & { readonly name: string }, entry: AuditEntry | null): Promise<void>;
  /** Removes the tenant, its keys, usage, users, requests, audit log and its inventory system. */
  removeTenant(tenant: Tenant): Promise<void>;
  /** Makes this pair the tenant's; those before it end at `oldEndsAt`. The actor of the entry is who issued it. */
  replaceKeys(teamId: string, key: { apiId: string; secretHash: Uint8Array }, oldEndsAt: string, entry: AuditEntry): Promise<void>;
  /** The pair in force first, then those on their way out that have not ended at `now`. */
  listKeys(teamId: string, now: string): Promise<KeyView[]>;
  /** Ends a key that has been replaced; false when the tenant has no such key, or it is the pair in force. */
  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean>;
}

export interface UsageStore {
  /** Adds the counts, durably; returns each tenant's total of each month touched after them, under `teamId month`. */
  addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>>;
  readUsage(teamId: string, month: string): Promise<MonthUsage>;
  /** The months there are counts of, newest first, at most 36. */
  listMonths(teamId: string): Promise<{ month: string; calls: number }[]>;
}
