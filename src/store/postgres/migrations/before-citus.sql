-- Prepares the schema of a tenant before its tables are copied to a worker of Citus, which cannot plan transition tables.
DO $migration$
DECLARE
  name TEXT;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN RETURN; END IF;
  FOREACH name IN ARRAY ARRAY['ORDERS', 'CUSTOMER', 'INVENTORY'] LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS added ON %I', name);
  END LOOP;
END $migration$
