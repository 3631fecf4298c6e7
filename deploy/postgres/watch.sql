-- Queries to watch a PostgreSQL that has Storeroom's data: psql --file=watch.sql storeroom

-- Connections. Nodes have the name `storeroom serve`.
SELECT client_addr, application_name, state, wait_event_type, count(*), max(now() - state_change) AS since
FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC;

-- Transactions open for over a minute, which should only be backups and exports.
SELECT pid, usename, application_name, state, now() - xact_start AS age, left(query, 60) AS query
FROM pg_stat_activity WHERE xact_start < now() - interval '1 minute' ORDER BY xact_start;

-- Replication, slots and archive.
SELECT application_name, state, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) AS bytes_behind, replay_lag
FROM pg_stat_replication;
SELECT slot_name, active, wal_status, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS kept
FROM pg_replication_slots;
SELECT archived_count, failed_count, last_archived_time, last_failed_wal FROM pg_stat_archiver;

-- Dead rows.
SELECT schemaname, relname, n_live_tup, n_dead_tup, n_tup_upd, n_tup_hot_upd, last_autovacuum,
  pg_size_pretty(pg_total_relation_size(relid)) AS size
FROM pg_stat_user_tables ORDER BY n_dead_tup DESC LIMIT 20;

-- The age of the oldest unfrozen row: a problem from 1,000,000,000.
SELECT datname, age(datfrozenxid) FROM pg_database ORDER BY 2 DESC;
