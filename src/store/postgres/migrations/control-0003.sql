-- The request log. A block holds the requests of one tenant and node for a moment, as compressed lines of JSON, so the server need not try to compress it;
-- BLOCK_ID begins with the time of its last request.
CREATE TABLE "REQUESTS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "BLOCK_ID" TEXT COLLATE "C" NOT NULL, "FIRST_AT" TEXT COLLATE "C" NOT NULL, "BOOT" TEXT COLLATE "C" NOT NULL,
  "FIRST_NUMBER" BIGINT NOT NULL, "LAST_NUMBER" BIGINT NOT NULL, "LINES" BYTEA NOT NULL, PRIMARY KEY ("TEAM_ID", "BLOCK_ID")
);
ALTER TABLE "REQUESTS" ALTER COLUMN "LINES" SET STORAGE EXTERNAL;
CREATE INDEX "REQUESTS_NUMBERS" ON "REQUESTS" ("TEAM_ID", "BOOT", "FIRST_NUMBER", "LAST_NUMBER");

-- Calls that were answered with a status of 400 and more. The same rows change again and again, as those of USAGE do.
CREATE TABLE "REFUSALS" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "DAY" TEXT COLLATE "C" NOT NULL, "OPERATION" TEXT COLLATE "C" NOT NULL, "CALLS" BIGINT NOT NULL,
  PRIMARY KEY ("TEAM_ID", "DAY", "OPERATION")
) WITH (fillfactor = 50);

-- The last call with each key. USED_IN_URL_AT is '' when its secret never came in a URL.
CREATE TABLE "KEY_USES" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "API_ID" TEXT COLLATE "C" NOT NULL, "USED_AT" TEXT COLLATE "C" NOT NULL, "CLIENT" TEXT NOT NULL,
  "USED_IN_URL_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("TEAM_ID", "API_ID")
) WITH (fillfactor = 50);
