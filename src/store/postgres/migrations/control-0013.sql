-- Everything except the inventory systems: the tenants with their API keys (with the SHA-256 of a secret, never the secret),
-- people, logs, webhooks and metered calls. OWN_QUOTA is the monthly limit of calls that the owners of the team set.
CREATE TABLE "TENANTS" (
  "TEAM_ID" TEXT COLLATE "C" PRIMARY KEY, "NAME" TEXT NOT NULL, "CREATED_AT" TEXT NOT NULL, "STORE_ID" TEXT COLLATE "C" NOT NULL UNIQUE,
  "DEFAULT_STAGE" TEXT NOT NULL, "STRICT" BOOLEAN NOT NULL, "MONTH_QUOTA" BIGINT, "CALLS_PER_SECOND" DOUBLE PRECISION,
  -- Number of the pims-*.sql script that the schema of the tenant has.
  "SCHEMA_VERSION" INTEGER NOT NULL, "OWN_QUOTA" BIGINT
);
CREATE UNIQUE INDEX "TENANTS_TEAM_ID" ON "TENANTS" (lower("TEAM_ID"));

-- ENDS_AT is '' for the pair in force; a replaced pair that is kept for an overlap has its end there. Each pair has a name and
-- a scope. Several names can be in force; the newest valid pair of each name is.
CREATE TABLE "API_KEYS" (
  "API_ID" TEXT COLLATE "C" PRIMARY KEY, "TEAM_ID" TEXT COLLATE "C" NOT NULL REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE,
  "SECRET_HASH" BYTEA NOT NULL, "ISSUED_AT" TEXT COLLATE "C" NOT NULL, "ENDS_AT" TEXT COLLATE "C" NOT NULL, "ISSUED_BY" TEXT NOT NULL,
  "NAME" TEXT COLLATE "C" NOT NULL, "SCOPE" TEXT COLLATE "C" NOT NULL
);
CREATE INDEX "API_KEYS_TEAM_ID" ON "API_KEYS" ("TEAM_ID");

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
-- Has a row while a move to this database is unfinished: its source. Only the move can open the database meanwhile.
CREATE TABLE "MOVE" ("SOURCE" TEXT NOT NULL);

-- The people of a tenant and their sessions. Links, sessions and recovery codes are here as SHA-256 only, passwords as hashes
-- of Argon2.
CREATE TABLE "USERS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE, "EMAIL" TEXT COLLATE "C" NOT NULL, "ROLE" TEXT NOT NULL,
  "CREATED_AT" TEXT COLLATE "C" NOT NULL, "PASSWORD_HASH" TEXT NOT NULL, "PASSWORD_SET_AT" TEXT COLLATE "C" NOT NULL, "SEALED_SECRET" BYTEA,
  "LAST_STEP" BIGINT NOT NULL, "FAILURES" INTEGER NOT NULL, "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL, "LINK_HASH" BYTEA UNIQUE,
  "LINK_ENDS_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("TEAM_ID", "EMAIL")
);
CREATE TABLE "RECOVERY_CODES" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "EMAIL" TEXT COLLATE "C" NOT NULL, "NUMBER" INTEGER NOT NULL, "CODE_HASH" BYTEA NOT NULL,
  PRIMARY KEY ("TEAM_ID", "EMAIL", "NUMBER"), FOREIGN KEY ("TEAM_ID", "EMAIL") REFERENCES "USERS" ("TEAM_ID", "EMAIL") ON DELETE CASCADE
);
-- PROVEN_AT is when the user of the session last proved who they are. Failed proofs are counted by session.
CREATE TABLE "SESSIONS" (
  "TOKEN_HASH" BYTEA PRIMARY KEY, "SESSION_ID" TEXT COLLATE "C" NOT NULL, "TEAM_ID" TEXT COLLATE "C" NOT NULL, "EMAIL" TEXT COLLATE "C" NOT NULL,
  "CREATED_AT" TEXT COLLATE "C" NOT NULL, "SEEN_AT" TEXT COLLATE "C" NOT NULL, "CLIENT" TEXT NOT NULL, "AGENT" TEXT NOT NULL,
  "PROVEN_AT" TEXT COLLATE "C" NOT NULL, "FAILURES" INTEGER NOT NULL, "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL,
  FOREIGN KEY ("TEAM_ID", "EMAIL") REFERENCES "USERS" ("TEAM_ID", "EMAIL") ON DELETE CASCADE
) WITH (fillfactor = 50);
CREATE INDEX "SESSIONS_USER" ON "SESSIONS" ("TEAM_ID", "EMAIL");
-- Failed sign-ins of names without an account. Each slot keeps the last name that belongs to it.
CREATE TABLE "UNKNOWN_NAMES" (
  "SLOT" INTEGER PRIMARY KEY, "NAME_HASH" BYTEA NOT NULL, "FAILURES" INTEGER NOT NULL, "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL
);

-- The audit log. DETAIL is a JSON object of texts. ONCE names the request that made the record, by its Idempotency-Key; a
-- second record with the same one is refused. AUDIT_HEADS has the last number and hash of each log; a writer of a record
-- locks its row.
CREATE TABLE "AUDIT" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE, "NUMBER" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL,
  "ACTOR" TEXT NOT NULL, "ACTION" TEXT NOT NULL, "TARGET" TEXT NOT NULL, "CLIENT" TEXT NOT NULL, "DETAIL" TEXT NOT NULL, "HASH" TEXT NOT NULL,
  "ONCE" TEXT COLLATE "C", PRIMARY KEY ("TEAM_ID", "NUMBER")
);
CREATE UNIQUE INDEX "AUDIT_ONCE" ON "AUDIT" ("TEAM_ID", "ONCE") WHERE "ONCE" IS NOT NULL;
CREATE TABLE "AUDIT_HEADS" (
  "TEAM_ID" TEXT COLLATE "C" PRIMARY KEY REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE, "NUMBER" BIGINT NOT NULL, "HASH" TEXT NOT NULL
) WITH (fillfactor = 50);
-- A record can only be deleted with its tenant.
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

-- The endpoints of webhooks. TYPES are words with spaces between them. SEALED_SECRET is encrypted with the key `webhooks`.
-- The endpoint has received the changes up to POSITION. DELIVERIES is the number of its last delivery. REVISION counts
-- the changes that people made.
CREATE TABLE "WEBHOOKS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE, "ID" TEXT COLLATE "C" PRIMARY KEY,
  "URL" TEXT NOT NULL, "TYPES" TEXT NOT NULL, "CREATED_AT" TEXT COLLATE "C" NOT NULL, "SEALED_SECRET" BYTEA NOT NULL, "OLD_SECRET" BYTEA,
  "OLD_SECRET_ENDS_AT" TEXT COLLATE "C" NOT NULL, "POSITION" BIGINT NOT NULL, "STATE" TEXT NOT NULL, "REASON" TEXT NOT NULL,
  "FAILURES" INTEGER NOT NULL, "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL, "DELIVERED_AT" TEXT COLLATE "C" NOT NULL,
  "DELIVERIES" BIGINT NOT NULL DEFAULT 0, "REVISION" INTEGER NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX "WEBHOOKS_TEAM_ID" ON "WEBHOOKS" ("TEAM_ID");
CREATE TABLE "WEBHOOK_DELIVERIES" (
  "WEBHOOK_ID" TEXT COLLATE "C" NOT NULL REFERENCES "WEBHOOKS" ("ID") ON DELETE CASCADE, "NUMBER" BIGINT NOT NULL, "SEQ" TEXT NOT NULL,
  "TYPE" TEXT NOT NULL, "KEY" TEXT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "ATTEMPT" INTEGER NOT NULL, "STATUS" INTEGER, "ERROR" TEXT,
  "DURATION_MS" INTEGER NOT NULL, "REQUEST" TEXT NOT NULL, "RESPONSE" TEXT NOT NULL, "NEXT_TRY_AT" TEXT,
  PRIMARY KEY ("WEBHOOK_ID", "NUMBER")
);
CREATE INDEX "WEBHOOK_DELIVERIES_AT" ON "WEBHOOK_DELIVERIES" ("AT");
-- The one row says which node sends, and how often an endpoint was added, changed or removed.
CREATE TABLE "WEBHOOK_SENDER" (
  "ONE" INTEGER PRIMARY KEY CHECK ("ONE" = 1), "OWNER" TEXT NOT NULL, "TICK" BIGINT NOT NULL, "CHANGES" BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO "WEBHOOK_SENDER" VALUES (1, '', 0, 0);

-- Secrets with which the installation signs and encrypts: random, made once, the same for all nodes, never revealed. A UUID
-- has 122 random bits.
CREATE TABLE "SECRETS" ("NAME" TEXT COLLATE "C" PRIMARY KEY, "SECRET" BYTEA NOT NULL);
INSERT INTO "SECRETS" SELECT name, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) FROM unnest(ARRAY['cursors', 'webhooks']) name;
-- Facts for commands about the node that started last: its version and its address.
CREATE TABLE "INSTALLATION" ("NAME" TEXT COLLATE "C" PRIMARY KEY, "VALUE" TEXT COLLATE "C" NOT NULL);
