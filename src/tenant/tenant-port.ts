/**
 * Ports: tenants, their keys and their usage. Implemented under store/. One method is one transaction; a method with an
 * `entry` appends it to the audit log in that transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';

export interface TenantSettings {
  /** ORDER_TYPE of a new order that sends none. */
  defaultStage: 'worksheet' | 'quote' | 'sales_order';
  /** Whether PART_CODE, CUSTOMER_CODE and LOCATION_CODE must exist. */
  strict: boolean;
  /** Calls per calendar month (UTC); null: no limit. */
  monthQuota: number | null;
  /** Calls per second; null: no limit. */
  callsPerSecond: number | null;
}

interface TenantChange extends TenantSettings {
  readonly name: string;
}

export interface Tenant extends TenantChange {
  readonly teamId: string;
  readonly createdAt: string;
  /** Names the tenant's inventory system. A tenant created again under the same teamID has another. */
  readonly storeId: string;
}

/** The name of a pair of keys, and its permission. */
export interface KeyTerms {
  readonly name: string;
  readonly scope: 'write' | 'read';
}

/** The pair that a call was sent with. */
export interface CallingKey extends KeyTerms {
  readonly apiId: string;
}

/** A tenant, the pair it was found by, and the hash of that pair's secret. */
export interface Caller {
  readonly tenant: Tenant;
  readonly key: CallingKey;
  readonly secretHash: Uint8Array;
}

/** Calls by tenant, day (UTC, `2026-11-20`) and operation. */
export interface UsageCount {
  readonly teamId: string;
  readonly day: string;
  readonly operation: string;
  calls: number;
}

/** Calls of a tenant with one pair of keys in a month (UTC, `2026-11`), and the time of the last of them. */
export interface KeyCount {
  readonly teamId: string;
  readonly month: string;
  readonly apiId: string;
  readonly name: string;
  calls: number;
  usedAt: string;
}

interface MonthUsage {
  readonly total: number;
  readonly byDay: { day: string; operation: string; calls: number }[];
  /** By name. Calls of the explorer, and of nodes older than this count, are only in the total. */
  readonly byKey: Pick<KeyCount, 'apiId' | 'name' | 'calls'>[];
}

export interface NewKey {
  readonly apiId: string;
  readonly secretHash: Uint8Array;
}

/** A key without its secret. */
export interface KeyInfo extends CallingKey {
  readonly issuedAt: string;
  /** E-mail address of the user, or `command line`; '' for a key older than this column. */
  readonly issuedBy: string;
  /** '' for a key that never expires. */
  readonly endsAt: string;
  /** Whether a newer pair has its name. */
  readonly isReplaced: boolean;
}

export interface TenantStore {
  /** undefined when the team or the apiID is unknown, or the key has ended by now. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  hasTenants(): Promise<boolean>;
  /** COMMAND_REFUSED when the teamID is taken. */
  createTenant(teamId: string, name: string, now: string, entry?: AuditEntry): Promise<Outcome<Tenant>>;
  updateTenant(teamId: string, change: TenantChange, entry: AuditEntry | null): Promise<void>;
  /** Deletes the tenant, its keys, usage, users, requests, audit log and inventory system. */
  deleteTenant(tenant: Tenant): Promise<void>;
  /** Adds a pair. The actor of the entry is the issuer. COMMAND_REFUSED: the name is taken, or there are too many. */
  createKeys(teamId: string, key: NewKey & KeyTerms, endsAt: string, entry: AuditEntry): Promise<Outcome<void>>;
  /**
   * Puts this key in the place of the pair with the name, by default of `default`, else of the oldest, whose name and
   * scope it inherits; keys of that name end at `oldEndsAt`. The first of all is `default`. The actor of the entry is
   * the issuer. COMMAND_REFUSED: no such name, or too many replaced pairs are still valid.
   */
  replaceKeys(
    teamId: string,
    key: NewKey,
    oldEndsAt: string,
    entry: AuditEntry,
    name?: string,
  ): Promise<Outcome<KeyTerms>>;
  /** Valid at `now`: the pairs in force, oldest first, then the replaced ones. */
  listKeys(teamId: string, now: string): Promise<KeyInfo[]>;
  /** Ends a valid key; false when the tenant has no such key. */
  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean>;
}

export interface UsageStore {
  /**
   * Adds the counts and the same calls by key, durably, in one transaction. Answers the new total of each tenant and
   * month in them, under `teamId month`. A key and month is there once.
   */
  addUsage(counts: readonly UsageCount[], byKey?: readonly KeyCount[]): Promise<ReadonlyMap<string, number>>;
  loadUsage(teamId: string, month: string): Promise<MonthUsage>;
  /** When each key that was ever counted was last used, by its apiID. */
  loadLastUses(teamId: string): Promise<ReadonlyMap<string, string>>;
  /** Months that have counts, newest first, at most 36. */
  listMonths(teamId: string): Promise<{ month: string; calls: number }[]>;
}
