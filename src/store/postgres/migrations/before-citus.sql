-- For the schema of a tenant, before its tables are copied to a worker of Citus. A worker does not know the settings of our sessions, so the triggers
-- for nodes of the version before would act for all, and Citus has no plan for transition tables. No older version ever used such a database.
DO $migration$
DECLARE
  name TEXT;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN RETURN; END IF;
  DROP TRIGGER IF EXISTS kept_ledger ON "INVENTORY";
  DROP TRIGGER IF EXISTS opened_ledger ON "INVENTORY";
  FOREACH name IN ARRAY ARRAY['ORDERS', 'CUSTOMER', 'INVENTORY'] LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS recorded ON %I', name);
    EXECUTE format('DROP TRIGGER IF EXISTS added ON %I', name);
  END LOOP;
END $migration$
