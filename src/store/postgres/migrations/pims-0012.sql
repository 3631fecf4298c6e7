-- One tenant's inventory system, in a separate schema: the shared tables, and what finds their rows. search is the folded text
-- of the searched fields, for the trigram index. folded has the text without case of every field with characters beyond ASCII,
-- because PostgreSQL folds by other rules than the service.
$TABLES
-- Grows when a custom field is added. Its row is the lock under which one transaction at a time writes to the tenant.
INSERT INTO "COUNTERS" VALUES ('fields', 1);

-- An index has the first 256 characters of a value, because an entry has room for 2,704 bytes; a filter cannot have more.
-- Times are shorter, so their indexes have them whole.
-- fillfactor leaves room in each page for new versions of its rows: a version that changes no indexed field stays in the page,
-- and then no index is written.
CREATE INDEX "ORDERS_REFERENCE_NUMBER" ON "ORDERS" (left("REFERENCE_NUMBER", 256), "SORT_KEY");
CREATE INDEX "ORDERS_CUSTOMER_CODE" ON "ORDERS" (left("CUSTOMER_CODE", 256), "SORT_KEY");
CREATE INDEX "ORDERS_ORDER_DATE" ON "ORDERS" (left("ORDER_DATE", 256), "SORT_KEY");
-- Begins with the year, for ranges and sorting.
CREATE INDEX "ORDERS_ORDER_DAY" ON "ORDERS" ((substr("ORDER_DATE", 7) || substr("ORDER_DATE", 1, 5)), "SORT_KEY");
CREATE INDEX "ORDERS_ORDER_TYPE" ON "ORDERS" (left("ORDER_TYPE", 256), "SORT_KEY");
CREATE INDEX "ORDERS_ORDER_STATUS" ON "ORDERS" (left("ORDER_STATUS", 256), "SORT_KEY");
CREATE INDEX "ORDERS_BEMAIL" ON "ORDERS" (left("BEMAIL", 256), "SORT_KEY");
CREATE INDEX "ORDERS_BACKORDER_OF" ON "ORDERS" (left("BACKORDER_OF", 256), "SORT_KEY");
CREATE INDEX "ORDERS_RETURN_OF" ON "ORDERS" (left("RETURN_OF", 256), "SORT_KEY");
CREATE INDEX "ORDERS_CREATE_DATE" ON "ORDERS" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "ORDERS_SEARCH" ON "ORDERS" USING gin (search gin_trgm_ops);

CREATE INDEX "CUSTOMER_CUSTOMER_NAME" ON "CUSTOMER" (left("CUSTOMER_NAME", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BNAME" ON "CUSTOMER" (left("BNAME", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BEMAIL" ON "CUSTOMER" (left("BEMAIL", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BPHONE" ON "CUSTOMER" (left("BPHONE", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_SNAME" ON "CUSTOMER" (left("SNAME", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_SEMAIL" ON "CUSTOMER" (left("SEMAIL", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BCITY" ON "CUSTOMER" (left("BCITY", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BSTATE" ON "CUSTOMER" (left("BSTATE", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_BZIPCODE" ON "CUSTOMER" (left("BZIPCODE", 256), "SORT_KEY");
CREATE INDEX "CUSTOMER_CREATE_DATE" ON "CUSTOMER" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "CUSTOMER_SEARCH" ON "CUSTOMER" USING gin (search gin_trgm_ops);

CREATE INDEX "INVENTORY_PART_DESCRIPTION" ON "INVENTORY" (left("PART_DESCRIPTION", 256), "SORT_KEY");
CREATE INDEX "INVENTORY_BARCODE" ON "INVENTORY" (left("BARCODE", 256), "SORT_KEY");
CREATE INDEX "INVENTORY_CATEGORY" ON "INVENTORY" (left("CATEGORY", 256), "SORT_KEY");
CREATE INDEX "INVENTORY_LOCATION_CODE" ON "INVENTORY" (left("LOCATION_CODE", 256), "SORT_KEY");
CREATE INDEX "INVENTORY_CREATE_DATE" ON "INVENTORY" ("CREATE_DATE", "SORT_KEY");
CREATE INDEX "INVENTORY_SEARCH" ON "INVENTORY" USING gin (search gin_trgm_ops);

-- SORT_KEY (sortKeyOfLine in pims/rules/values.ts) sorts lines as their orders, then by number.
CREATE TABLE "ORDER_LINEITEMS" (
  "SORT_KEY" TEXT COLLATE "C" NOT NULL UNIQUE, folded JSONB, "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, "LINE_NUMBER" INTEGER NOT NULL,
  $FIELDS(PART_CODE, DESCRIPTION, QUANTITY, NUMBER_SHIPPED, UNIT_PRICE, DISCOUNT, SERIAL_NUMBERS, CARE_PLAN,
    LINE_REF_LOCK_CODE, CREATE_DATE, MODIFIED_DATE),
  PRIMARY KEY ("ORDER_NUMBER", "LINE_NUMBER")
);
CREATE INDEX "ORDER_LINEITEMS_PART_CODE" ON "ORDER_LINEITEMS" (left("PART_CODE", 256), "SORT_KEY");
CREATE INDEX "ORDER_LINEITEMS_LINE_REF_LOCK_CODE" ON "ORDER_LINEITEMS" (left("LINE_REF_LOCK_CODE", 256), "SORT_KEY");
-- The serial numbers in SERIAL_NUMBERS of lines, one in each row, except those that are longer than the value of a filter.
CREATE TABLE "LINE_SERIALS" ("SERIAL" TEXT COLLATE "C" NOT NULL, "LINE_KEY" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("SERIAL", "LINE_KEY"));

-- The ID has the order in which the fields were added.
CREATE TABLE "CUSTOM_FIELDS" (
  "ID" INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "RECORD_TYPE" TEXT COLLATE "C" NOT NULL, "NAME" TEXT COLLATE "C" NOT NULL, "TYPE" TEXT NOT NULL,
  UNIQUE ("RECORD_TYPE", "NAME")
);

-- MODIFIED_DATE changes with every write. An index of the records would defeat fillfactor: each update would write every
-- index of the row, including the trigrams. So triggers keep it in separate tables. Their columns are lowercase, unlike fields.
CREATE TABLE "ORDERS_MODIFIED" (modified TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, PRIMARY KEY (modified, key));
CREATE TABLE "CUSTOMER_MODIFIED" (LIKE "ORDERS_MODIFIED" INCLUDING ALL);
CREATE TABLE "INVENTORY_MODIFIED" (LIKE "ORDERS_MODIFIED" INCLUDING ALL);
DO $migration$
DECLARE
  name TEXT;
  place TEXT := quote_ident(current_schema());
BEGIN
  FOREACH name IN ARRAY ARRAY['ORDERS', 'CUSTOMER', 'INVENTORY'] LOOP
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
