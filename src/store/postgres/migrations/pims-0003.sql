-- Stands for the state of a record: another text with every write of it, and for an order of its lines. Records from before share one, drawn by the
-- migration. Names of fields begin with a letter, so no field of a tenant's own meets it.
ALTER TABLE "ORDERS" ADD COLUMN "_VERSION" TEXT COLLATE "C" NOT NULL DEFAULT '$VERSION';
ALTER TABLE "CUSTOMER" ADD COLUMN "_VERSION" TEXT COLLATE "C" NOT NULL DEFAULT '$VERSION';
ALTER TABLE "INVENTORY" ADD COLUMN "_VERSION" TEXT COLLATE "C" NOT NULL DEFAULT '$VERSION';
-- What follows is for nodes of the version before, which do not know the column: their writes move it all the same.
ALTER TABLE "ORDERS" ALTER COLUMN "_VERSION" SET DEFAULT gen_random_uuid()::text;
ALTER TABLE "CUSTOMER" ALTER COLUMN "_VERSION" SET DEFAULT gen_random_uuid()::text;
ALTER TABLE "INVENTORY" ALTER COLUMN "_VERSION" SET DEFAULT gen_random_uuid()::text;
CREATE FUNCTION "MOVE_VERSION"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW."_VERSION" := gen_random_uuid()::text;
  RETURN NEW;
END $$;
CREATE TRIGGER "ORDERS_VERSION" BEFORE UPDATE ON "ORDERS" FOR EACH ROW WHEN (NEW."_VERSION" = OLD."_VERSION") EXECUTE FUNCTION "MOVE_VERSION"();
CREATE TRIGGER "CUSTOMER_VERSION" BEFORE UPDATE ON "CUSTOMER" FOR EACH ROW WHEN (NEW."_VERSION" = OLD."_VERSION") EXECUTE FUNCTION "MOVE_VERSION"();
CREATE TRIGGER "INVENTORY_VERSION" BEFORE UPDATE ON "INVENTORY" FOR EACH ROW WHEN (NEW."_VERSION" = OLD."_VERSION") EXECUTE FUNCTION "MOVE_VERSION"();
-- Their imports of lines leave the orders as they are, as do two lines written to an order within a millisecond. Newer nodes say so in their sessions.
CREATE FUNCTION "MOVE_VERSION_OF_ORDER"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE digits TEXT := ltrim(NEW."ORDER_NUMBER", '0');
  zeros INTEGER := length(NEW."ORDER_NUMBER") - length(digits);
BEGIN
  -- The sort key of pims/values.ts; of '000' the last 0 is no leading one.
  IF digits = '' THEN digits := '0'; zeros := zeros - 1; END IF;
  UPDATE "ORDERS" SET "_VERSION" = gen_random_uuid()::text WHERE "SORT_KEY" = CASE
    WHEN NEW."ORDER_NUMBER" !~ '^[0-9]+$' THEN '~' || NEW."ORDER_NUMBER"
    ELSE lpad(length(digits)::text, 4, '0') || digits || CASE WHEN zeros > 0 THEN ':' || lpad(zeros::text, 4, '0') ELSE '' END END;
  RETURN NULL;
END $$;
CREATE TRIGGER "ORDER_LINEITEMS_VERSION" AFTER INSERT OR UPDATE ON "ORDER_LINEITEMS" FOR EACH ROW
  WHEN (current_setting('storeroom.moves_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "MOVE_VERSION_OF_ORDER"();
