-- What is beside the tenants' inventory systems: tenants and their API keys (a secret is never here, only its SHA-256), and their metered calls.
CREATE TABLE "TENANTS" (
  "TEAM_ID" TEXT COLLATE "C" PRIMARY KEY, "NAME" TEXT NOT NULL, "CREATED_AT" TEXT NOT NULL, "STORE_ID" TEXT COLLATE "C" NOT NULL UNIQUE,
  "DEFAULT_STAGE" TEXT NOT NULL, "STRICT" BOOLEAN NOT NULL, "MONTH_QUOTA" BIGINT, "CALLS_PER_SECOND" DOUBLE PRECISION,
  -- Which migrations of pims-*.sql its schema has.
  "SCHEMA_VERSION" INTEGER NOT NULL
);
CREATE UNIQUE INDEX "TENANTS_TEAM_ID" ON "TENANTS" (lower("TEAM_ID"));

-- ENDS_AT is '' for the pair in force; a replaced pair kept for an overlap has its end there.
CREATE TABLE "API_KEYS" (
  "API_ID" TEXT COLLATE "C" PRIMARY KEY, "TEAM_ID" TEXT COLLATE "C" NOT NULL REFERENCES "TENANTS" ("TEAM_ID") ON DELETE CASCADE,
  "SECRET_HASH" BYTEA NOT NULL, "ISSUED_AT" TEXT COLLATE "C" NOT NULL, "ENDS_AT" TEXT COLLATE "C" NOT NULL
);
CREATE INDEX "API_KEYS_TEAM_ID" ON "API_KEYS" ("TEAM_ID");

-- USAGE_MONTHS is the sum of USAGE over the month, kept with it in one transaction because every answer carries it. The same rows change at every batch:
-- half-empty pages give each new version of a row a place beside the old one.
CREATE TABLE "USAGE" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "DAY" TEXT COLLATE "C" NOT NULL, "OPERATION" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL,
  PRIMARY KEY ("TEAM_ID", "DAY", "OPERATION")
) WITH (fillfactor = 50);
CREATE TABLE "USAGE_MONTHS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "MONTH" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL, PRIMARY KEY ("TEAM_ID", "MONTH")
) WITH (fillfactor = 50);
-- The last batch of counts that each running node has added: a batch sent again because its answer was lost is not added again.
CREATE TABLE "USAGE_NODES" ("NODE" TEXT COLLATE "C" PRIMARY KEY, "SEQUENCE" BIGINT NOT NULL, "SEEN_AT" TIMESTAMPTZ NOT NULL) WITH (fillfactor = 50);
-- Has a row while a move into this database is unfinished: the source it comes from. Nothing but the move opens the database meanwhile.
CREATE TABLE "MOVE" ("SOURCE" TEXT NOT NULL);
