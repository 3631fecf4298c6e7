-- The tables of one tenant's inventory system, which both stores have. Types are those of SQLite. Columns have the PIMS field
-- names; values are canonical text, '' if there is none. SORT_KEY is the key of the record in sortable form (sortKey in
-- pims/rules/values.ts) and finds the record. _VERSION changes with every write of the record, or of a line of the order.
-- _CANCELLED is 'Y' for a cancelled or void order, which ORDER_STATUS, a free text, does not say. _TOTALS says which totals
-- PIMS computes (pims/rules/totals.ts). _UNSTOCKED has the LINE_NUMBERs of a return's lines whose units are not in stock
-- again. Names of fields begin with a letter, so no custom field can have the name of one of these four.
CREATE TABLE "ORDERS" (
  $RECORD,
  $FIELDS(ORDER_NUMBER, ORDER_TYPE, REFERENCE_NUMBER, CUSTOMER_CODE, LOCATION_CODE, ORDER_DATE, ORDER_STATUS,
    SALESPERSON_CODE, PO_NUMBER, TERMS_CODE, SHIP_VIA, DROP_SHIP, TRACKING_NUMBERS, NOTES, SUBTOTAL, FREIGHT, TAX_TOTAL,
    ORDER_TOTAL, BNAME, BATTN, BADDRESS1, BADDRESS2, BCITY, BSTATE, BZIPCODE, BCOUNTRY, BPHONE, BEMAIL, SNAME, SATTN,
    SADDRESS1, SADDRESS2, SCITY, SSTATE, SZIPCODE, SCOUNTRY, SPHONE, SEMAIL, BACKORDER_OF, RETURN_OF, CREATE_DATE,
    MODIFIED_DATE),
  "_VERSION" TEXT NOT NULL, $FIELDS(_CANCELLED, _TOTALS, _UNSTOCKED)
) $RECORDS;
CREATE TABLE "CUSTOMER" (
  $RECORD,
  $FIELDS(CUSTOMER_CODE, CUSTOMER_NAME, BNAME, BATTN, BADDRESS1, BADDRESS2, BCITY, BSTATE, BZIPCODE, BCOUNTRY, BPHONE,
    BEMAIL, SNAME, SATTN, SADDRESS1, SADDRESS2, SCITY, SSTATE, SZIPCODE, SCOUNTRY, SPHONE, SEMAIL, TERMS_CODE,
    CREDIT_LIMIT, NOTES, CREATE_DATE, MODIFIED_DATE),
  "_VERSION" TEXT NOT NULL
) $RECORDS;
CREATE TABLE "INVENTORY" (
  $RECORD,
  $FIELDS(PART_CODE, PART_DESCRIPTION, BARCODE, CATEGORY, LOCATION_CODE, QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE,
    QTY_ONORDER, UNIT_PRICE, UNIT_COST, SERIALIZED, CARE_PLAN, CREATE_DATE, MODIFIED_DATE),
  "_VERSION" TEXT NOT NULL
) $RECORDS;

-- The next number to assign. It only grows, so that no number is assigned twice.
CREATE TABLE "COUNTERS" ("NAME" TEXT PRIMARY KEY, "NEXT" INTEGER NOT NULL) $HOT;
INSERT INTO "COUNTERS" VALUES ('orders', 10001), ('customers', 10001);
CREATE TABLE "IDEMPOTENCY" (
  "OPERATION" TEXT NOT NULL, "IDEMPOTENCY_KEY" TEXT NOT NULL, "BODY_HASH" TEXT NOT NULL, "ANSWER" TEXT NOT NULL,
  "CREATED_AT" TEXT NOT NULL, PRIMARY KEY ("OPERATION", "IDEMPOTENCY_KEY")
) $TABLE;
CREATE INDEX "IDEMPOTENCY_CREATED_AT" ON "IDEMPOTENCY" ("CREATED_AT");
-- The change feed. A row has the changes of one commit: BEFORE is the position before the first, SEQ the number of the last.
-- Numbers continue from the newest row, which is never deleted.
CREATE TABLE "CHANGES" ("SEQ" INTEGER PRIMARY KEY, "BEFORE" INTEGER NOT NULL, "AT" TEXT NOT NULL, "CHANGED" TEXT NOT NULL) $ROWS;
-- The ledger: every movement of QTY_ONHAND, which is the sum of QUANTITY. NUMBER counts the movements of a part from 1.
CREATE TABLE "MOVEMENTS" (
  "PART_CODE" TEXT NOT NULL, "NUMBER" INTEGER NOT NULL, "AT" TEXT NOT NULL, "KIND" TEXT NOT NULL, "QUANTITY" TEXT NOT NULL,
  "AFTER" TEXT NOT NULL, "REASON" TEXT NOT NULL, "DONE_BY" TEXT NOT NULL, "ORDER_NUMBER" TEXT NOT NULL, "SERIALS" TEXT NOT NULL,
  PRIMARY KEY ("PART_CODE", "NUMBER")
) $TABLE;
-- The received and sold serial numbers. ORDER_NUMBER is the invoice that sold the unit, or the return that did not put it
-- back in stock; '' while it is in stock.
CREATE TABLE "SERIALS" ("PART_CODE" TEXT NOT NULL, "SERIAL" TEXT NOT NULL, "ORDER_NUMBER" TEXT NOT NULL, PRIMARY KEY ("PART_CODE", "SERIAL")) $TABLE;
CREATE INDEX "SERIALS_SERIAL" ON "SERIALS" ("SERIAL");
