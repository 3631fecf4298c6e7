-- Queries by the times and the dates of records: ranges, and sorted. Times are no longer than an index entry, so their indexes hold them whole; that of a
-- date has its year first. Nodes of the version before go on with the index of ORDER_DATE that they know.
CREATE INDEX "ORDERS_CREATE_DATE" ON "ORDERS" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "CUSTOMER_CREATE_DATE" ON "CUSTOMER" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "INVENTORY_CREATE_DATE" ON "INVENTORY" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "ORDERS_ORDER_DAY" ON "ORDERS" ((substr("ORDER_DATE", 7) || substr("ORDER_DATE", 1, 5)), "SORT_KEY");
-- MODIFIED_DATE changes with every write. An index of its own would end what fillfactor is for: each update would write every index of the row, the
-- trigrams too. So it stands beside the records, kept by triggers, whichever node writes. The columns are lower case, as no field's is.
CREATE TABLE "ORDERS_MODIFIED" (modified TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, PRIMARY KEY (modified, key));
CREATE TABLE "CUSTOMER_MODIFIED" (LIKE "ORDERS_MODIFIED" INCLUDING ALL);
CREATE TABLE "INVENTORY_MODIFIED" (LIKE "ORDERS_MODIFIED" INCLUDING ALL);
DO $migration$
DECLARE
  name TEXT;
  place TEXT := quote_ident(current_schema());
BEGIN
  FOREACH name IN ARRAY ARRAY['ORDERS', 'CUSTOMER', 'INVENTORY'] LOOP
    EXECUTE format('INSERT INTO %I SELECT "MODIFIED_DATE", "SORT_KEY" FROM %I', name || '_MODIFIED', name);
    EXECUTE format('CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
      INSERT INTO %s.%I SELECT "MODIFIED_DATE", "SORT_KEY" FROM added; RETURN NULL; END $f$',
      lower(name) || '_added', place, name || '_MODIFIED');
    EXECUTE format('CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
      UPDATE %s.%I SET modified = NEW."MODIFIED_DATE" WHERE modified = OLD."MODIFIED_DATE" AND key = NEW."SORT_KEY"; RETURN NULL; END $f$',
      lower(name) || '_modified', place, name || '_MODIFIED');
    EXECUTE format('CREATE TRIGGER added AFTER INSERT ON %I REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION %I()',
      name, lower(name) || '_added');
    EXECUTE format('CREATE TRIGGER modified AFTER UPDATE ON %I FOR EACH ROW WHEN (OLD."MODIFIED_DATE" <> NEW."MODIFIED_DATE") EXECUTE FUNCTION %I()',
      name, lower(name) || '_modified');
  END LOOP;
END $migration$;
