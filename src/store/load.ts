/** What a store is busy with at a moment, for /metrics. */

/** Connections of a pool, those that are lent, and callers that wait for one. */
export interface PoolLoad {
  readonly size: number;
  readonly inUse: number;
  readonly waiting: number;
}

export interface StoreLoad {
  /** Long queries and searches of logs. */
  readonly queries: { readonly running: number; readonly waiting: number };
  /** PostgreSQL: connections for writes and for long queries, those lent, and callers that wait for one. */
  readonly pools?: Readonly<Record<'writes' | 'queries', PoolLoad>>;
  /** Embedded store: bytes of the write-ahead log of each database; of tenants, the longest of the open ones. */
  readonly logBytes?: Readonly<Record<'control' | 'usage' | 'requests' | 'tenants', number>>;
  /** Embedded store: tenants whose files are open. */
  readonly openTenants?: number;
  /** Embedded store: tenants whose files are missing or damaged. */
  readonly apartTenants?: number;
}
