/**
 * Ports: tenants, their keys and their usage. Implemented under store/. One method is one transaction; a method with an
 * `entry` appends it to the audit log in that transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';

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

export interface TenantChange extends TenantSettings {
  readonly name: string;
}

export interface Tenant extends TenantChange {
  readonly teamId: string;
  readonly createdAt: string;
  /** Names the tenant's inventory system. A tenant created again under the same teamID has another. */
  readonly storeId: string;
}

/** A tenant, and the hash of the secret of the apiID it was found by. */
export interface Caller {
  readonly tenant: Tenant;
  readonly secretHash: Uint8Array;
}

/** Calls by tenant, day (UTC, `2026-11-20`) and operation. */
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

export interface NewKey {
  readonly apiId: string;
  readonly secretHash: Uint8Array;
}

/** A key without its secret. */
export interface KeyInfo {
  readonly apiId: string;
  readonly issuedAt: string;
  /** E-mail address of the user, or `command line`; '' for a key older than this column. */
  readonly issuedBy: string;
  /** '' for the pair in force; the time at which a replaced one ends. */
  readonly endsAt: string;
}

export interface TenantStore {
  /** undefined when the team or the apiID is unknown, or the key has ended by now. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  /** COMMAND_REFUSED when the teamID is taken. */
  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>>;
  updateTenant(teamId: string, change: TenantChange, entry: AuditEntry | null): Promise<void>;
  /** Deletes the tenant, its keys, usage, users, requests, audit log and inventory system. */
  deleteTenant(tenant: Tenant): Promise<void>;
  /** Makes this the pair in force. Keys issued before end at `oldEndsAt`. The actor of the entry is the issuer. */
  replaceKeys(teamId: string, key: NewKey, oldEndsAt: string, entry: AuditEntry): Promise<void>;
  /** The pair in force first, then the replaced ones that are still valid at `now`. */
  listKeys(teamId: string, now: string): Promise<KeyInfo[]>;
  /** Ends a replaced key that is still valid; false when the tenant has no such key, or it is the pair in force. */
  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean>;
}

export interface UsageStore {
  /** Adds the counts, durably. Answers the new total of each tenant and month in them, under `teamId month`. */
  addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>>;
  loadUsage(teamId: string, month: string): Promise<MonthUsage>;
  /** Months that have counts, newest first, at most 36. */
  listMonths(teamId: string): Promise<{ month: string; calls: number }[]>;
}
