-- Everything except the inventory systems: the shared tables, logs and metered calls.
$TABLES
-- Number of the pims-*.sql script that the schema of the tenant has.
ALTER TABLE "TENANTS" ADD COLUMN "SCHEMA_VERSION" INTEGER NOT NULL;
CREATE UNIQUE INDEX "TENANTS_TEAM_ID" ON "TENANTS" (lower("TEAM_ID"));

-- USAGE_MONTHS is the sum of USAGE over the month, kept with it in one transaction because every response carries it. KEY_USAGE
-- has the same calls by pair of keys, with the time of the last. An ended pair keeps its rows, so the name is
-- here. The same rows change at every batch: half-empty pages give each new version of a row a place beside the old one.
CREATE TABLE "USAGE" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "DAY" TEXT COLLATE "C" NOT NULL, "OPERATION" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL,
  PRIMARY KEY ("TEAM_ID", "DAY", "OPERATION")
) WITH (fillfactor = 50);
CREATE TABLE "USAGE_MONTHS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "MONTH" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL, PRIMARY KEY ("TEAM_ID", "MONTH")
) WITH (fillfactor = 50);
CREATE TABLE "KEY_USAGE" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "MONTH" TEXT COLLATE "C" NOT NULL, "API_ID" TEXT COLLATE "C" NOT NULL, "NAME" TEXT COLLATE "C" NOT NULL,
  "CALLS" BIGINT NOT NULL, "USED_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("TEAM_ID", "MONTH", "API_ID")
) WITH (fillfactor = 50);
-- The last batch of counts that each running node has added: a batch sent again because its response was lost is not added again.
CREATE TABLE "USAGE_NODES" ("NODE" TEXT COLLATE "C" PRIMARY KEY, "SEQUENCE" BIGINT NOT NULL, "SEEN_AT" TIMESTAMPTZ NOT NULL) WITH (fillfactor = 50);
-- Has a row while a move to this database is unfinished. Only the move can open the database meanwhile.
CREATE TABLE "MOVE" ("SOURCE" TEXT NOT NULL);

-- A record of the audit log can only be deleted with its tenant.
CREATE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM "TENANTS" WHERE "TEAM_ID" = OLD."TEAM_ID") THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'the audit log is never changed';
END $$;
CREATE TRIGGER "AUDIT_KEPT" BEFORE UPDATE OR DELETE ON "AUDIT" FOR EACH ROW EXECUTE FUNCTION keep_audit();

-- The request log. A block has the requests of one tenant and node during a moment, as compressed lines of JSON, so the
-- server need not try to compress it. BLOCK_ID begins with the time of its last request.
CREATE TABLE "REQUESTS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "BLOCK_ID" TEXT COLLATE "C" NOT NULL, "FIRST_AT" TEXT COLLATE "C" NOT NULL, "BOOT" TEXT COLLATE "C" NOT NULL,
  "FIRST_NUMBER" BIGINT NOT NULL, "LAST_NUMBER" BIGINT NOT NULL, "LINES" BYTEA STORAGE EXTERNAL NOT NULL, PRIMARY KEY ("TEAM_ID", "BLOCK_ID")
);
CREATE INDEX "REQUESTS_NUMBERS" ON "REQUESTS" ("TEAM_ID", "BOOT", "FIRST_NUMBER", "LAST_NUMBER");
-- Bytes of the blocks of a tenant, kept by triggers, because adding them up would read them all. A block needs about 200
-- bytes in addition to its lines. Rows are changed in the order of their tenants, which avoids deadlocks.
CREATE TABLE "REQUEST_BYTES" ("TEAM_ID" TEXT COLLATE "C" NOT NULL PRIMARY KEY, "BYTES" BIGINT NOT NULL) WITH (fillfactor = 50);
CREATE FUNCTION "ADD_REQUEST_BYTES"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  INSERT INTO "REQUEST_BYTES" AS b SELECT "TEAM_ID", sum(length("LINES") + 200) FROM changed GROUP BY "TEAM_ID" ORDER BY "TEAM_ID"
    ON CONFLICT ("TEAM_ID") DO UPDATE SET "BYTES" = b."BYTES" + excluded."BYTES";
  RETURN NULL;
END $$;
CREATE FUNCTION "TAKE_REQUEST_BYTES"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  UPDATE "REQUEST_BYTES" b SET "BYTES" = b."BYTES" - c.bytes
    FROM (SELECT "TEAM_ID", sum(length("LINES") + 200) AS bytes FROM changed GROUP BY "TEAM_ID") c WHERE b."TEAM_ID" = c."TEAM_ID";
  RETURN NULL;
END $$;
CREATE TRIGGER "REQUESTS_ADDED" AFTER INSERT ON "REQUESTS" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "ADD_REQUEST_BYTES"();
CREATE TRIGGER "REQUESTS_DELETED" AFTER DELETE ON "REQUESTS" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "TAKE_REQUEST_BYTES"();

-- Calls that got a status of 400 or more. The same rows change again and again, like the rows of USAGE.
CREATE TABLE "REFUSALS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "DAY" TEXT COLLATE "C" NOT NULL, "OPERATION" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL,
  PRIMARY KEY ("TEAM_ID", "DAY", "OPERATION")
) WITH (fillfactor = 50);
-- The last call with each key. USED_IN_URL_AT is '' if its secret was never in a URL.
CREATE TABLE "KEY_USES" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "API_ID" TEXT COLLATE "C" NOT NULL, "USED_AT" TEXT COLLATE "C" NOT NULL, "CLIENT" TEXT NOT NULL,
  "USED_IN_URL_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("TEAM_ID", "API_ID")
) WITH (fillfactor = 50);

-- A UUID has 122 random bits.
INSERT INTO "SECRETS" SELECT name, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) FROM unnest(ARRAY['cursors', 'webhooks']) name;
