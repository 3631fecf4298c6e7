/**
 * Begin here: the types and ports of tenants, their keys and their usage. The ports are implemented under store/. Each
 * method except deleteTenant is one transaction, in which a method with an `entry` appends it to the audit log.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/audit.ts';

export interface TenantSettings {
  /** The ORDER_TYPE of a new order that is sent without one. */
  defaultStage: 'worksheet' | 'quote' | 'sales_order';
  /** Whether PART_CODE, CUSTOMER_CODE and LOCATION_CODE must exist. */
  strict: boolean;
  /** The operator's limit of calls per calendar month (UTC); null means no limit. */
  monthQuota: number | null;
  /** The same limit by the owners of the team. The lower of the two applies (`quotaOf`). */
  ownQuota: number | null;
  /** Maximum calls per second; null means no limit. */
  callsPerSecond: number | null;
}

interface TenantChange extends TenantSettings {
  readonly name: string;
}

export interface Tenant extends TenantChange {
  readonly teamId: string;
  readonly createdAt: string;
  /** The name of the tenant's inventory system. A tenant created again under the same teamID has another name. */
  readonly storeId: string;
}

/** The name and the scope of a pair of keys. */
export interface KeyTerms {
  readonly name: string;
  readonly scope: 'read' | 'write' | 'office';
}

/** The pair that a call was sent with. */
export interface CallingKey extends KeyTerms {
  readonly apiId: string;
}

/** A tenant, the pair of keys by which it was found, and the hash of the pair's secret. */
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
  /** The calls by key, sorted by name. Calls from the explorer have no key. */
  readonly byKey: Pick<KeyCount, 'apiId' | 'name' | 'calls'>[];
}

export interface NewKey {
  readonly apiId: string;
  readonly secretHash: Uint8Array;
}

/** A key without its secret. */
export interface KeyInfo extends CallingKey {
  readonly issuedAt: string;
  /** The issuer's email address, or `command line`. */
  readonly issuedBy: string;
  /** '' for a key that never expires. */
  readonly endsAt: string;
  /** Whether a newer pair has the same name. */
  readonly isReplaced: boolean;
}

export interface TenantStore {
  /** Returns undefined when the team or the apiID is unknown, or the key is not valid any more. */
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  findTenant(teamId: string): Promise<Tenant | undefined>;
  listTenants(): Promise<Tenant[]>;
  /** Lists at most this many tenants, oldest first. */
  listOldest(most: number): Promise<Tenant[]>;
  hasTenants(): Promise<boolean>;
  /** Creates a tenant. Refuses (COMMAND_REFUSED) a teamID that is in use. */
  createTenant(teamId: string, name: string, now: string, entry?: AuditEntry): Promise<Outcome<Tenant>>;
  updateTenant(teamId: string, change: TenantChange, entry: AuditEntry | null): Promise<void>;
  /** Deletes the tenant, its keys, usage, users, requests, audit log and inventory system. */
  deleteTenant(tenant: Tenant): Promise<void>;
  /**
   * Adds a pair, whose issuer is the actor of the entry. Refuses (COMMAND_REFUSED) a name that is in use, and a pair
   * above the maximum.
   */
  createKeys(teamId: string, key: NewKey & KeyTerms, endsAt: string, entry: AuditEntry): Promise<Outcome<void>>;
  /**
   * Replaces the pair with this name (without one, the pair `default`, else the oldest). The new pair has the same name
   * and scope, and older pairs of the name expire at `oldEndsAt`. A tenant's first pair is called `default`. The actor
   * of the entry is the issuer. Refuses (COMMAND_REFUSED) an unknown name, and a replacement when too many replaced
   * pairs are still valid.
   */
  replaceKeys(
    teamId: string,
    key: NewKey,
    oldEndsAt: string,
    entry: AuditEntry,
    name?: string,
  ): Promise<Outcome<KeyTerms>>;
  /** Lists the keys that are valid at `now`: the current pairs, oldest first, then the replaced pairs. */
  listKeys(teamId: string, now: string): Promise<KeyInfo[]>;
  /** Renames the valid pairs with the name of this key. Refuses with COMMAND_REFUSED (a name in use) or NOT_FOUND. */
  renameKeys(teamId: string, apiId: string, name: string, entry: AuditEntry): Promise<Outcome<void>>;
  /** Ends a valid key. Returns false when the tenant has no such key. */
  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean>;
}

export interface UsageStore {
  /**
   * Adds the counts, and the same calls by key, durably in one transaction. Returns the new total of each tenant and
   * month, under `teamId month`. Each key and month occurs once in `byKey`. The embedded store calls `onSyncing` when
   * only the sync is missing.
   */
  addUsage(
    counts: readonly UsageCount[],
    byKey?: readonly KeyCount[],
    onSyncing?: () => void,
  ): Promise<ReadonlyMap<string, number>>;
  loadUsage(teamId: string, month: string): Promise<MonthUsage>;
  /** Loads the time of the last use of each key that was ever counted, by its apiID. */
  loadLastUses(teamId: string): Promise<ReadonlyMap<string, string>>;
  /** Lists the months that have counts, newest first, at most 36. */
  listMonths(teamId: string): Promise<{ month: string; calls: number }[]>;
  /** Loads the number of calls of each of these teams in a month. A team without calls is missing. */
  loadMonth(month: string, teamIds: readonly string[]): Promise<{ teamId: string; calls: number }[]>;
}

/** A server: its address, `host:port`; whether new tenants are placed there; and its number of tenants. */
export interface DatabaseServer {
  readonly address: string;
  readonly takesTenants: boolean;
  readonly tenants: number;
}

/** The placement of tenants on several servers. */
export interface Placement {
  listServers(): Promise<DatabaseServer[]>;
  /** Returns the address of the server that has a tenant. */
  findServer(storeId: string): Promise<string>;
  /**
   * Moves a tenant to the worker with this address. Between workers, calls continue, and only writes wait, at the
   * end. From the coordinator, all calls wait for the whole move. Resolves when the tenant is there. Throws
   * COMMAND_REFUSED for an unknown address, and with the reason if the move fails.
   */
  move(storeId: string, address: string): Promise<void>;
}
