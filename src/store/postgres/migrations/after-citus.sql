-- Completes the schema of a tenant after its tables are on a worker of Citus: a trigger for each row replaces the trigger for
-- all rows of a statement.
DO $migration$
DECLARE
  name TEXT;
  place TEXT := quote_ident(current_schema());
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN RETURN; END IF;
  FOREACH name IN ARRAY ARRAY['ORDERS', 'CUSTOMER', 'INVENTORY'] LOOP
    EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
      INSERT INTO %s.%I VALUES (NEW."MODIFIED_DATE", NEW."SORT_KEY"); RETURN NULL; END $f$', lower(name) || '_added', place, name || '_MODIFIED');
    EXECUTE format('CREATE TRIGGER added AFTER INSERT ON %I FOR EACH ROW EXECUTE FUNCTION %I()', name, lower(name) || '_added');
  END LOOP;
END $migration$
