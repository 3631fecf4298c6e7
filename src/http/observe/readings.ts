/**
 * What the service tells of itself beside its calls, as rows of name, help and where the value comes from. It is
 * measured when /metrics is asked for, so that no call pays for it.
 */

/** In seconds, bytes and counts since the start; what is undefined does not exist on this node. */
export interface Readings {
  readonly ready: boolean;
  /** Whether the store answers. */
  readonly usable: boolean;
  readonly inFlight: { readonly calls: number; readonly most: number };
  /** Calls answered SERVICE_BUSY. */
  readonly refused: number;
  readonly connectionsEnded: Readonly<Record<string, number>>;
  /** Batches of counts that the store did not take. */
  readonly meteringFailures: number;
  readonly requestLog: {
    readonly waiting: number;
    readonly isStopped: boolean;
    readonly dropped: number;
    readonly beyondRate: number;
  };
  readonly store: {
    readonly queries: { readonly running: number; readonly waiting: number };
    readonly pools?: Readonly<Record<string, PoolReading>>;
    readonly logBytes?: Readonly<Record<string, number>>;
    readonly openTenants?: number;
    readonly apartTenants?: number;
  };
  readonly disk?: DiskReading | undefined;
  readonly backup?: BackupReading | undefined;
}

interface PoolReading {
  readonly size: number;
  readonly inUse: number;
  readonly waiting: number;
}

interface DiskReading {
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** The request log stops below it. */
  readonly lowBytes: number;
}

/** Of scheduled backups. */
interface BackupReading {
  readonly everySeconds: number;
  /** When the last backup that was verified ended, in seconds since 1970; 0 when none is known. */
  readonly lastSuccessSeconds: number;
  readonly failures: number;
}

type Value = number | undefined;

export interface Measured {
  /** Of a counter, it ends with `_total`. */
  readonly name: string;
  readonly help: string;
  /** There where it has several values, one for each value of the label. */
  readonly label?: string;
  readonly read: (readings: Readings) => Value | Readonly<Record<string, number>>;
}

const ofPools = (pools: Readings['store']['pools'], part: keyof PoolReading): Record<string, number> | undefined =>
  pools && Object.fromEntries(Object.entries(pools).map(([pool, reading]) => [pool, reading[part]]));

export const MEASURED: readonly Measured[] = [
  {
    name: 'storeroom_ready',
    help: 'Whether the node takes requests (1), as /readyz tells.',
    read: ({ ready }) => Number(ready),
  },
  {
    name: 'storeroom_store_usable',
    help: 'Whether the store answers (1), as /healthz tells.',
    read: ({ usable }) => Number(usable),
  },
  {
    name: 'storeroom_requests_in_flight',
    help: 'Calls of operations that are being worked on.',
    read: ({ inFlight }) => inFlight.calls,
  },
  {
    name: 'storeroom_requests_in_flight_limit',
    help: 'Calls that may be in flight now. Those beyond are refused.',
    read: ({ inFlight }) => inFlight.most,
  },
  {
    name: 'storeroom_overload_refusals_total',
    help: 'Requests refused with 503 SERVICE_BUSY.',
    read: ({ refused }) => refused,
  },
  {
    name: 'storeroom_connections_ended_total',
    help: 'Connections that were ended: too many requests sent ahead, or an answer that nobody took.',
    label: 'reason',
    read: ({ connectionsEnded }) => connectionsEnded,
  },
  {
    name: 'storeroom_metering_failures_total',
    help: 'Batches of counts that the store did not take. Their calls were answered 503.',
    read: ({ meteringFailures }) => meteringFailures,
  },
  {
    name: 'storeroom_request_log_stopped',
    help: 'Whether the request log is stopped (1), because the store or its disk takes no lines.',
    read: ({ requestLog }) => Number(requestLog.isStopped),
  },
  {
    name: 'storeroom_request_log_waiting_lines',
    help: 'Lines of the request log that wait for the store.',
    read: ({ requestLog }) => requestLog.waiting,
  },
  {
    name: 'storeroom_request_log_dropped_total',
    help: 'Requests that are in no log, because the store did not take them.',
    read: ({ requestLog }) => requestLog.dropped,
  },
  {
    name: 'storeroom_request_log_beyond_rate_total',
    help: 'Requests that are in no log, because their tenant made more in a second than it may log.',
    read: ({ requestLog }) => requestLog.beyondRate,
  },
  {
    name: 'storeroom_queries_running',
    help: 'Long queries that run.',
    read: ({ store }) => store.queries.running,
  },
  {
    name: 'storeroom_queries_waiting',
    help: 'Long queries that wait for their turn.',
    read: ({ store }) => store.queries.waiting,
  },
  {
    name: 'storeroom_database_pool_connections',
    help: 'Open connections to PostgreSQL of a pool. They are opened when they are first needed.',
    label: 'pool',
    read: ({ store }) => ofPools(store.pools, 'size'),
  },
  {
    name: 'storeroom_database_pool_in_use',
    help: 'Connections of a pool that are in use.',
    label: 'pool',
    read: ({ store }) => ofPools(store.pools, 'inUse'),
  },
  {
    name: 'storeroom_database_pool_waiting',
    help: 'Calls that wait for a connection of a pool.',
    label: 'pool',
    read: ({ store }) => ofPools(store.pools, 'waiting'),
  },
  {
    name: 'storeroom_wal_bytes',
    help: 'Bytes of the write-ahead log of a database of the embedded store. Of tenants, the longest of the open ones.',
    label: 'database',
    read: ({ store }) => store.logBytes,
  },
  {
    name: 'storeroom_open_tenants',
    help: 'Tenants whose files the embedded store has open.',
    read: ({ store }) => store.openTenants,
  },
  {
    name: 'storeroom_tenants_unavailable',
    help: 'Tenants whose calls are answered 503 TENANT_UNAVAILABLE, as their files are missing or damaged.',
    read: ({ store }) => store.apartTenants,
  },
  {
    name: 'storeroom_disk_free_bytes',
    help: 'Free bytes of the disk of the embedded store.',
    read: ({ disk }) => disk?.freeBytes,
  },
  {
    name: 'storeroom_disk_size_bytes',
    help: 'Bytes of the disk of the embedded store.',
    read: ({ disk }) => disk?.sizeBytes,
  },
  {
    name: 'storeroom_disk_low_bytes',
    help: 'Free bytes of the disk below which the request log stops.',
    read: ({ disk }) => disk?.lowBytes,
  },
  {
    name: 'storeroom_backup_last_success_timestamp_seconds',
    help: 'When the last verified backup ended, in seconds since 1970; 0 while there is none.',
    read: ({ backup }) => backup?.lastSuccessSeconds,
  },
  {
    name: 'storeroom_backup_interval_seconds',
    help: 'Seconds from one scheduled backup to the next.',
    read: ({ backup }) => backup?.everySeconds,
  },
  {
    name: 'storeroom_backup_failures_total',
    help: 'Scheduled backups that could not be made or verified.',
    read: ({ backup }) => backup?.failures,
  },
];
