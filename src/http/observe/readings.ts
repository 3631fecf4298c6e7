/**
 * The readings of the service beyond its calls, as rows of name, help and place. They are taken when /metrics is
 * requested, so that no call pays for them.
 */
import type { PoolReading, Readings } from '../../administration/readings.ts';

/** The places of values in the readings, such as `inFlight.calls`. */
type PlaceOf<T> = {
  [Name in keyof T & string]-?: NonNullable<T[Name]> extends number | boolean
    ? Name
    : string extends keyof NonNullable<T[Name]>
      ? Name
      : `${Name}.${PlaceOf<NonNullable<T[Name]>>}`;
}[keyof T & string];

/**
 * The name of a counter ends with `_total`. With a label, there are several values, one for each value of the label; of
 * each pool, one part.
 */
type Measured = readonly [
  name: string,
  help: string,
  place: PlaceOf<Readings>,
  label?: string,
  part?: keyof PoolReading,
];

type Counts = Readonly<Record<string, number>>;

/** Returns the value at a place, or undefined if it does not exist on this node. */
export function findReading(readings: Readings, [, , place, , part]: Measured): number | Counts | undefined {
  const found = place.split('.').reduce<unknown>((value, name) => (value as Counts | undefined)?.[name], readings);
  if (typeof found === 'boolean') return Number(found);
  if (part === undefined || found === undefined) return found as number | Counts | undefined;
  const pools = Object.entries(found as Readonly<Record<string, PoolReading>>);
  return Object.fromEntries(pools.map(([pool, reading]) => [pool, reading[part]]));
}

export const MEASURED: readonly Measured[] = [
  ['storeroom_ready', 'Whether the node accepts requests (1), as /readyz reports.', 'ready'],
  ['storeroom_store_usable', 'Whether the store answers (1), as /healthz reports.', 'usable'],
  ['storeroom_requests_in_flight', 'Calls to operations that are in flight.', 'inFlight.calls'],
  [
    'storeroom_requests_in_flight_limit',
    'Current maximum of calls in flight. Further calls are refused.',
    'inFlight.most',
  ],
  ['storeroom_requests_waiting', 'Calls that wait for a change. They are not in flight.', 'waiting'],
  ['storeroom_overload_refusals_total', 'Requests refused with 503 SERVICE_BUSY.', 'refused'],
  [
    'storeroom_connections_ended_total',
    'Connections that the service closed because the client sent too many requests ahead or did not read a response.',
    'connectionsEnded',
    'reason',
  ],
  [
    'storeroom_metering_failures_total',
    'Groups of counts that the store did not accept. Their calls got 503.',
    'meteringFailures',
  ],
  [
    'storeroom_request_log_stopped',
    'Is 1 while the request log is stopped because the store or its disk accepts no lines, otherwise 0.',
    'requestLog.isStopped',
  ],
  ['storeroom_request_log_waiting_lines', 'Lines of the request log that wait for the store.', 'requestLog.waiting'],
  [
    'storeroom_request_log_dropped_total',
    'Requests missing from the log, because the store did not accept them.',
    'requestLog.dropped',
  ],
  [
    'storeroom_request_log_beyond_rate_total',
    'Requests missing from the log, because their tenant exceeded STOREROOM_REQUEST_LOG_RATE.',
    'requestLog.beyondRate',
  ],
  [
    'storeroom_webhook_lag_seconds',
    'Age of the oldest change that an active webhook has not received. 0 on a node that does not send.',
    'webhooks.lagSeconds',
  ],
  ['storeroom_webhook_failures_total', 'Failed attempts to deliver to a webhook.', 'webhooks.failures'],
  ['storeroom_webhooks_paused', 'Webhooks that are paused.', 'webhooks.paused'],
  ['storeroom_queries_running', 'Long queries that are running.', 'store.queries.running'],
  ['storeroom_queries_waiting', 'Long queries that wait for their turn.', 'store.queries.waiting'],
  [
    'storeroom_database_pool_connections',
    'Open connections of a pool to PostgreSQL. They are opened on first use.',
    'store.pools',
    'pool',
    'size',
  ],
  ['storeroom_database_pool_in_use', 'Connections of a pool that are in use.', 'store.pools', 'pool', 'inUse'],
  ['storeroom_database_pool_waiting', 'Calls that wait for a connection of a pool.', 'store.pools', 'pool', 'waiting'],
  [
    'storeroom_wal_bytes',
    'Size of a write-ahead log of the embedded store, in bytes. For tenants, the longest of the open ones.',
    'store.logBytes',
    'database',
  ],
  ['storeroom_open_tenants', 'Tenants whose files the embedded store has open.', 'store.openTenants'],
  [
    'storeroom_tenants_unavailable',
    'Tenants whose calls get 503 TENANT_UNAVAILABLE, because their files are missing, damaged or cannot be opened.',
    'store.apartTenants',
  ],
  ['storeroom_disk_free_bytes', 'Free bytes on the disk of the embedded store.', 'disk.freeBytes'],
  ['storeroom_disk_size_bytes', 'Bytes of the disk of the embedded store.', 'disk.sizeBytes'],
  ['storeroom_disk_low_bytes', 'Free bytes of the disk below which the request log stops.', 'disk.lowBytes'],
  [
    'storeroom_backup_last_success_timestamp_seconds',
    'End of the last verified backup, in seconds since 1970; 0 if there is none.',
    'backup.lastSuccessSeconds',
  ],
  ['storeroom_backup_interval_seconds', 'Seconds from one scheduled backup to the next.', 'backup.everySeconds'],
  ['storeroom_backup_failures_total', 'Scheduled backups that could not be made or verified.', 'backup.failures'],
];
