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
CREATE INDEX "ORDERS_ORDER_DATE" ON "ORDERS" (left("ORDER_DATE", 256), "SORT_KEY");
-- Begins with the year, for ranges and sorting.
CREATE INDEX "ORDERS_ORDER_DAY" ON "ORDERS" ((substr("ORDER_DATE", 7) || substr("ORDER_DATE", 1, 5)), "SORT_KEY");
CREATE INDEX "ORDERS_SEARCH" ON "ORDERS" USING gin (search gin_trgm_ops);

CREATE INDEX "CUSTOMER_SEARCH" ON "CUSTOMER" USING gin (search gin_trgm_ops);
CREATE INDEX "INVENTORY_SEARCH" ON "INVENTORY" USING gin (search gin_trgm_ops);

-- SORT_KEY (sortKeyOfLine in pims/rules/values.ts) sorts lines as their orders, then by number.
CREATE TABLE "ORDER_LINEITEMS" (
  "SORT_KEY" TEXT COLLATE "C" NOT NULL UNIQUE, folded JSONB, "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, "LINE_NUMBER" INTEGER NOT NULL,
  $FIELDS(PART_CODE, DESCRIPTION, QUANTITY, NUMBER_SHIPPED, UNIT_PRICE, DISCOUNT, SERIAL_NUMBERS, CARE_PLAN,
    LINE_REF_LOCK_CODE, CREATE_DATE, MODIFIED_DATE),
  PRIMARY KEY ("ORDER_NUMBER", "LINE_NUMBER")
);
$INDEXES(ORDER_LINEITEMS: PART_CODE, LINE_REF_LOCK_CODE)

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
