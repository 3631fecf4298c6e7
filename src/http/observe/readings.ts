/**
 * The readings of the service beyond its calls, as rows of name, help and value. They are taken when /metrics is
 * requested, so that no call pays for them.
 */
import type { PoolReading, Readings } from '../../administration/readings.ts';

export interface Measured {
  /** The name of a counter ends with `_total`. */
  readonly name: string;
  readonly help: string;
  readonly read: (readings: Readings) => number | undefined | Readonly<Record<string, number>>;
  /** The label, if `read` returns several values, one for each value of the label. */
  readonly label: string | undefined;
}

const row = (name: string, help: string, read: Measured['read'], label?: string): Measured => ({
  name,
  help,
  read,
  label,
});

const ofPools = (pools: Readings['store']['pools'], part: keyof PoolReading): Record<string, number> | undefined =>
  pools && Object.fromEntries(Object.entries(pools).map(([pool, reading]) => [pool, reading[part]]));

export const MEASURED: readonly Measured[] = [
  row('storeroom_ready', 'Whether the node accepts requests (1), as /readyz reports.', ({ ready }) => Number(ready)),
  row('storeroom_store_usable', 'Whether the store answers (1), as /healthz reports.', ({ usable }) => Number(usable)),
  row('storeroom_requests_in_flight', 'Calls to operations that are in flight.', ({ inFlight }) => inFlight.calls),
  row(
    'storeroom_requests_in_flight_limit',
    'Current maximum of calls in flight. Further calls are refused.',
    ({ inFlight }) => inFlight.most,
  ),
  row('storeroom_requests_waiting', 'Calls that wait for a change. They are not in flight.', ({ waiting }) => waiting),
  row('storeroom_overload_refusals_total', 'Requests refused with 503 SERVICE_BUSY.', ({ refused }) => refused),
  row(
    'storeroom_connections_ended_total',
    'Connections that the service closed because the client sent too many requests ahead or did not read a response.',
    ({ connectionsEnded }) => connectionsEnded,
    'reason',
  ),
  row(
    'storeroom_metering_failures_total',
    'Groups of counts that the store did not accept. Their calls got 503.',
    ({ meteringFailures }) => meteringFailures,
  ),
  row(
    'storeroom_request_log_stopped',
    'Is 1 while the request log is stopped because the store or its disk accepts no lines, otherwise 0.',
    ({ requestLog }) => Number(requestLog.isStopped),
  ),
  row(
    'storeroom_request_log_waiting_lines',
    'Lines of the request log that wait for the store.',
    ({ requestLog }) => requestLog.waiting,
  ),
  row(
    'storeroom_request_log_dropped_total',
    'Requests missing from the log, because the store did not accept them.',
    ({ requestLog }) => requestLog.dropped,
  ),
  row(
    'storeroom_request_log_beyond_rate_total',
    'Requests missing from the log, because their tenant exceeded STOREROOM_REQUEST_LOG_RATE.',
    ({ requestLog }) => requestLog.beyondRate,
  ),
  row(
    'storeroom_webhook_lag_seconds',
    'Age of the oldest change that an active webhook has not received. 0 on a node that does not send.',
    ({ webhooks }) => webhooks.lagSeconds,
  ),
  row(
    'storeroom_webhook_failures_total',
    'Failed attempts to deliver to a webhook.',
    ({ webhooks }) => webhooks.failures,
  ),
  row('storeroom_webhooks_paused', 'Webhooks that are paused.', ({ webhooks }) => webhooks.paused),
  row('storeroom_queries_running', 'Long queries that are running.', ({ store }) => store.queries.running),
  row('storeroom_queries_waiting', 'Long queries that wait for their turn.', ({ store }) => store.queries.waiting),
  row(
    'storeroom_database_pool_connections',
    'Open connections of a pool to PostgreSQL. They are opened on first use.',
    ({ store }) => ofPools(store.pools, 'size'),
    'pool',
  ),
  row(
    'storeroom_database_pool_in_use',
    'Connections of a pool that are in use.',
    ({ store }) => ofPools(store.pools, 'inUse'),
    'pool',
  ),
  row(
    'storeroom_database_pool_waiting',
    'Calls that wait for a connection of a pool.',
    ({ store }) => ofPools(store.pools, 'waiting'),
    'pool',
  ),
  row(
    'storeroom_wal_bytes',
    'Size of a write-ahead log of the embedded store, in bytes. For tenants, the longest of the open ones.',
    ({ store }) => store.logBytes,
    'database',
  ),
  row('storeroom_open_tenants', 'Tenants whose files the embedded store has open.', ({ store }) => store.openTenants),
  row(
    'storeroom_tenants_unavailable',
    'Tenants whose calls get 503 TENANT_UNAVAILABLE, because their files are missing, damaged or cannot be opened.',
    ({ store }) => store.apartTenants,
  ),
  row('storeroom_disk_free_bytes', 'Free bytes on the disk of the embedded store.', ({ disk }) => disk?.freeBytes),
  row('storeroom_disk_size_bytes', 'Bytes of the disk of the embedded store.', ({ disk }) => disk?.sizeBytes),
  row(
    'storeroom_disk_low_bytes',
    'Free bytes of the disk below which the request log stops.',
    ({ disk }) => disk?.lowBytes,
  ),
  row(
    'storeroom_backup_last_success_timestamp_seconds',
    'End of the last verified backup, in seconds since 1970; 0 if there is none.',
    ({ backup }) => backup?.lastSuccessSeconds,
  ),
  row(
    'storeroom_backup_interval_seconds',
    'Seconds from one scheduled backup to the next.',
    ({ backup }) => backup?.everySeconds,
  ),
  row(
    'storeroom_backup_failures_total',
    'Scheduled backups that could not be made or verified.',
    ({ backup }) => backup?.failures,
  ),
];
