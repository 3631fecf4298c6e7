-- The ledger: every movement of QTY_ONHAND, which is the sum of QUANTITY. NUMBER counts the movements of a part from 1.
CREATE TABLE "MOVEMENTS" (
  "PART_CODE" TEXT COLLATE "C" NOT NULL, "NUMBER" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "KIND" TEXT COLLATE "C" NOT NULL,
  "QUANTITY" TEXT COLLATE "C" NOT NULL, "AFTER" TEXT COLLATE "C" NOT NULL, "REASON" TEXT COLLATE "C" NOT NULL, "DONE_BY" TEXT COLLATE "C" NOT NULL,
  "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, "SERIALS" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("PART_CODE", "NUMBER")
);
INSERT INTO "MOVEMENTS" SELECT "PART_CODE", 1, "MODIFIED_DATE", 'imported', "QTY_ONHAND", "QTY_ONHAND", 'opening stock', '', '', '' FROM "INVENTORY"
  WHERE "QTY_ONHAND" NOT IN ('', '0');
-- The serial numbers that were received or sold. ORDER_NUMBER is the invoice that sold the unit, '' while it is in stock.
CREATE TABLE "SERIALS" (
  "PART_CODE" TEXT COLLATE "C" NOT NULL, "SERIAL" TEXT COLLATE "C" NOT NULL, "ORDER_NUMBER" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("PART_CODE", "SERIAL")
);
CREATE INDEX "SERIALS_SERIAL" ON "SERIALS" ("SERIAL");
-- An invoice whose status says that it is void counts as void from now on.
UPDATE "ORDERS" SET "_CANCELLED" = 'Y' WHERE "ORDER_TYPE" = 'invoice' AND "ORDER_STATUS" = 'VOID';
-- Tells which open orders are backorders.
CREATE INDEX "BACKORDERS_BACKORDER" ON "BACKORDERS" ("BACKORDER");
-- The views of the list of orders.
CREATE INDEX "ORDERS_ORDER_TYPE" ON "ORDERS" (left("ORDER_TYPE", 256), "SORT_KEY");
-- For nodes of the version before, which keep no ledger. Newer nodes say in their sessions that they do.
CREATE FUNCTION "KEEP_LEDGER"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE earlier NUMERIC := 0;
BEGIN
  IF TG_OP = 'UPDATE' THEN earlier := coalesce(nullif(OLD."QTY_ONHAND", ''), '0')::numeric; END IF;
  INSERT INTO "MOVEMENTS" SELECT NEW."PART_CODE", coalesce(max("NUMBER"), 0) + 1,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'adjusted',
    trim_scale(coalesce(nullif(NEW."QTY_ONHAND", ''), '0')::numeric - earlier)::text, coalesce(nullif(NEW."QTY_ONHAND", ''), '0'),
    'node of an older version', '', '', '' FROM "MOVEMENTS" WHERE "PART_CODE" = NEW."PART_CODE";
  RETURN NULL;
END $$;
CREATE TRIGGER kept_ledger AFTER UPDATE ON "INVENTORY" FOR EACH ROW
  WHEN (OLD."QTY_ONHAND" <> NEW."QTY_ONHAND" AND current_setting('storeroom.keeps_ledger', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "KEEP_LEDGER"();
CREATE TRIGGER opened_ledger AFTER INSERT ON "INVENTORY" FOR EACH ROW
  WHEN (NEW."QTY_ONHAND" NOT IN ('', '0') AND current_setting('storeroom.keeps_ledger', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "KEEP_LEDGER"();
