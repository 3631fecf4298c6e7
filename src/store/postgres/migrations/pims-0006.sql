-- Which totals of the order are kept from its lines: 'S' SUBTOTAL, 'T' ORDER_TOTAL. In lower case when they are behind the lines. Orders from before keep
-- what they have.
ALTER TABLE "ORDERS" ADD COLUMN "_TOTALS" TEXT COLLATE "C" NOT NULL DEFAULT '';
-- Lines written by nodes of the version before leave the totals behind.
CREATE OR REPLACE FUNCTION "MOVE_VERSION_OF_ORDER"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE digits TEXT := ltrim(NEW."ORDER_NUMBER", '0');
  zeros INTEGER := length(NEW."ORDER_NUMBER") - length(digits);
BEGIN
  -- The sort key of pims/values.ts; of '000' the last 0 is no leading one.
  IF digits = '' THEN digits := '0'; zeros := zeros - 1; END IF;
  UPDATE "ORDERS" SET "_VERSION" = gen_random_uuid()::text, "_TOTALS" = lower("_TOTALS") WHERE "SORT_KEY" = CASE
    WHEN NEW."ORDER_NUMBER" !~ '^[0-9]+$' THEN '~' || NEW."ORDER_NUMBER"
    ELSE lpad(length(digits)::text, 4, '0') || digits || CASE WHEN zeros > 0 THEN ':' || lpad(zeros::text, 4, '0') ELSE '' END END;
  RETURN NULL;
END $$;
