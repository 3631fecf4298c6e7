/**
 * Port: the control data beside the tenants' inventory systems: tenants, keys, usage. Implemented under store/. Types only.
 * One method is one transaction and one durable fact.
 */
import type { Outcome } from '../errors.ts';

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

export interface TenantStore {
  /** The caller with this team and apiID, read anew every time; undefined when either is unknown or the key has ended. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>>;
  updateTenant(teamId: string, settings: TenantSettings): Promise<void>;
  /** Removes the tenant, its keys, its usage and its inventory system. */
  removeTenant(tenant: Tenant): Promise<void>;
  /** Makes this pair the tenant's; those before it end at `oldEndsAt`. */
  replaceKeys(teamId: string, key: { apiId: string; secretHash: Uint8Array }, now: string, oldEndsAt: string): Promise<void>;
}

export interface UsageStore {
  /** Adds the counts, durably; returns each tenant's total of each month touched after them, under `teamId month`. */
  addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>>;
  readUsage(teamId: string, month: string): Promise<MonthUsage>;
}
