-- The change feed. A row has the changes of one commit: BEFORE is the position before the first, SEQ the number of the last. Numbers go on from the
-- newest row, which is never deleted, under the lock of the tenant, so they become visible in their order.
CREATE TABLE "CHANGES" ("SEQ" BIGINT PRIMARY KEY, "BEFORE" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "CHANGED" TEXT COLLATE "C" NOT NULL);
-- For nodes of the version before, which do not know the table. Newer nodes say in their sessions that they record changes themselves.
CREATE FUNCTION "RECORD_CHANGE"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  INSERT INTO "CHANGES" SELECT coalesce(max("SEQ"), 0) + 1, coalesce(max("SEQ"), 0),
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), json_build_array(json_build_array(TG_ARGV[0],
    to_jsonb(NEW) ->> TG_ARGV[1], CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, ''))::text FROM "CHANGES";
  RETURN NULL;
END $$;
CREATE TRIGGER recorded AFTER INSERT OR UPDATE ON "ORDERS" FOR EACH ROW
  WHEN (current_setting('storeroom.records_changes', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "RECORD_CHANGE"('orders', 'ORDER_NUMBER');
CREATE TRIGGER recorded AFTER INSERT OR UPDATE ON "CUSTOMER" FOR EACH ROW
  WHEN (current_setting('storeroom.records_changes', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "RECORD_CHANGE"('customers', 'CUSTOMER_CODE');
CREATE TRIGGER recorded AFTER INSERT OR UPDATE ON "INVENTORY" FOR EACH ROW
  WHEN (current_setting('storeroom.records_changes', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "RECORD_CHANGE"('inventory', 'PART_CODE');
