-- One tenant's inventory system, in a separate schema. Columns have the PIMS field names; values are canonical text, '' if
-- there is none. SORT_KEY is the key of the record in sortable form (sortKey in pims/rules/values.ts) and finds the record.
-- search is the folded text of the searched fields, for the trigram index. folded has the text without case of every field
-- with characters beyond ASCII, because PostgreSQL folds by other rules than the service. _VERSION changes with every write
-- of the record, or of a line of the order. _CANCELLED is 'Y' for a cancelled or void order, which ORDER_STATUS, a free text,
-- does not say. _TOTALS says which totals PIMS computes (pims/rules/totals.ts). _UNSTOCKED has the LINE_NUMBERs of a return's
-- lines whose units are not in stock again. Names of fields are uppercase and begin with a letter, so no custom field can have
-- the name of one of these six.
-- An index has the first 256 characters of a value, because an entry has room for 2,704 bytes; a filter cannot have more.
-- Times are shorter, so their indexes have them whole.
-- fillfactor leaves room in each page for new versions of its rows: a version that changes no indexed field stays in the page,
-- and then no index is written.
CREATE TABLE "ORDERS" (
  "SORT_KEY" TEXT COLLATE "C" PRIMARY KEY, search TEXT COLLATE "C" NOT NULL, folded JSONB,
  $FIELDS(ORDER_NUMBER, ORDER_TYPE, REFERENCE_NUMBER, CUSTOMER_CODE, LOCATION_CODE, ORDER_DATE, ORDER_STATUS,
    SALESPERSON_CODE, PO_NUMBER, TERMS_CODE, SHIP_VIA, DROP_SHIP, TRACKING_NUMBERS, NOTES, SUBTOTAL, FREIGHT, TAX_TOTAL,
    ORDER_TOTAL, BNAME, BATTN, BADDRESS1, BADDRESS2, BCITY, BSTATE, BZIPCODE, BCOUNTRY, BPHONE, BEMAIL, SNAME, SATTN,
    SADDRESS1, SADDRESS2, SCITY, SSTATE, SZIPCODE, SCOUNTRY, SPHONE, SEMAIL, CREATE_DATE, MODIFIED_DATE, BACKORDER_OF,
    RETURN_OF),
  "_VERSION" TEXT COLLATE "C" NOT NULL, $FIELDS(_CANCELLED, _TOTALS, _UNSTOCKED)
) WITH (fillfactor = 85);
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

CREATE TABLE "CUSTOMER" (
  "SORT_KEY" TEXT COLLATE "C" PRIMARY KEY, search TEXT COLLATE "C" NOT NULL, folded JSONB,
  $FIELDS(CUSTOMER_CODE, CUSTOMER_NAME, BNAME, BATTN, BADDRESS1, BADDRESS2, BCITY, BSTATE, BZIPCODE, BCOUNTRY, BPHONE,
    BEMAIL, SNAME, SATTN, SADDRESS1, SADDRESS2, SCITY, SSTATE, SZIPCODE, SCOUNTRY, SPHONE, SEMAIL, TERMS_CODE,
    CREDIT_LIMIT, NOTES, CREATE_DATE, MODIFIED_DATE),
  "_VERSION" TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 85);
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

CREATE TABLE "INVENTORY" (
  "SORT_KEY" TEXT COLLATE "C" PRIMARY KEY, search TEXT COLLATE "C" NOT NULL, folded JSONB,
  $FIELDS(PART_CODE, PART_DESCRIPTION, BARCODE, CATEGORY, LOCATION_CODE, QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE,
    QTY_ONORDER, UNIT_PRICE, UNIT_COST, SERIALIZED, CARE_PLAN, CREATE_DATE, MODIFIED_DATE),
  "_VERSION" TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 85);
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
-- The next number to assign. It only grows, so that no number is assigned twice. 'fields' grows when a custom field is added,
-- and its row is the lock under which one transaction at a time writes to the tenant.
CREATE TABLE "COUNTERS" ("NAME" TEXT COLLATE "C" PRIMARY KEY, "NEXT" BIGINT NOT NULL) WITH (fillfactor = 50);
INSERT INTO "COUNTERS" VALUES ('orders', 10001), ('customers', 10001), ('fields', 1);
CREATE TABLE "IDEMPOTENCY" (
  "OPERATION" TEXT COLLATE "C" NOT NULL, "IDEMPOTENCY_KEY" TEXT COLLATE "C" NOT NULL, "BODY_HASH" TEXT COLLATE "C" NOT NULL, "ANSWER" TEXT NOT NULL,
  "CREATED_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("OPERATION", "IDEMPOTENCY_KEY")
);
CREATE INDEX "IDEMPOTENCY_CREATED_AT" ON "IDEMPOTENCY" ("CREATED_AT");

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

-- The change feed. A row has the changes of one commit: BEFORE is the position before the first, SEQ the number of the last. Numbers continue from the
-- newest row, which is never deleted, under the lock of the tenant, so they become visible in their order.
CREATE TABLE "CHANGES" ("SEQ" BIGINT PRIMARY KEY, "BEFORE" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "CHANGED" TEXT COLLATE "C" NOT NULL);
-- The ledger: every movement of QTY_ONHAND, which is the sum of QUANTITY. NUMBER counts the movements of a part from 1.
CREATE TABLE "MOVEMENTS" (
  "PART_CODE" TEXT COLLATE "C" NOT NULL, "NUMBER" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "KIND" TEXT COLLATE "C" NOT NULL,
  "QUANTITY" TEXT COLLATE "C" NOT NULL, "AFTER" TEXT COLLATE "C" NOT NULL, "REASON" TEXT COLLATE "C" NOT NULL, "DONE_BY" TEXT COLLATE "C" NOT NULL,
  "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, "SERIALS" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("PART_CODE", "NUMBER")
);
-- The received and sold serial numbers. ORDER_NUMBER is the invoice that sold the unit, or the return that did not put it
-- back in stock; '' while it is in stock.
CREATE TABLE "SERIALS" (
  "PART_CODE" TEXT COLLATE "C" NOT NULL, "SERIAL" TEXT COLLATE "C" NOT NULL, "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("PART_CODE", "SERIAL")
);
CREATE INDEX "SERIALS_SERIAL" ON "SERIALS" ("SERIAL");
