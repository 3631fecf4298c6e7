/** The measures of a store at a moment, for /metrics. */

/** The open connections of a pool, those in use, and the callers that wait for one. */
export interface PoolMeasures {
  readonly size: number;
  readonly inUse: number;
  readonly waiting: number;
}

export interface StoreMeasures {
  /** Long queries and searches of logs. */
  readonly queries: { readonly running: number; readonly waiting: number };
  /** PostgreSQL: the connections for writes and for long queries. */
  readonly pools?: Readonly<Record<'writes' | 'queries', PoolMeasures>>;
  /** Embedded store: bytes of the write-ahead log of each database; for tenants, the longest of the open ones. */
  readonly logBytes?: Readonly<Record<'control' | 'usage' | 'requests' | 'tenants', number>>;
  /** Embedded store: tenants whose files are open. */
  readonly openTenants?: number;
  /** Embedded store: tenants that are set apart. */
  readonly apartTenants?: number;
}
