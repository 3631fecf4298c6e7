/**
 * Ports: tenants, their keys and their usage. Implemented under store/. Types only.
 * One method is one transaction and one durable fact; a method with an `entry` appends it to the audit log in that transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';

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

export interface TenantStore {
  /** The caller with this team and apiID, read anew every time; undefined when either is unknown or the key has ended. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>>;
  updateTenant(
    teamId: string,
    settings: TenantSettings & { readonly name: string },
    entry: AuditEntry | null,
  ): Promise<void>;
  /** Removes the tenant, its keys, usage, users, requests, audit log and its inventory system. */
  deleteTenant(tenant: Tenant): Promise<void>;
  /** Makes this pair the tenant's; those before it end at `oldEndsAt`. The actor of the entry is who issued it. */
  replaceKeys(
    teamId: string,
    key: { apiId: string; secretHash: Uint8Array },
    oldEndsAt: string,
    entry: AuditEntry,
  ): Promise<void>;
  /** The pair in force first, then those on their way out that have not ended at `now`. */
  listKeys(teamId: string, now: string): Promise<KeyView[]>;
  /** Ends a key that has been replaced; false when the tenant has no such key, or it is the pair in force. */
  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean>;
}

export interface UsageStore {
  /** Adds the counts, durably; returns each tenant's total of each month touched after them, under `teamId month`. */
  addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>>;
  loadUsage(teamId: string, month: string): Promise<MonthUsage>;
  /** The months there are counts of, newest first, at most 36. */
  listMonths(teamId: string): Promise<{ month: string; calls: number }[]>;
}
