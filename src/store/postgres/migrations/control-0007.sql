-- Each pair of keys has a name and a scope. Several names can be in force; of the valid pairs of one name the newest is.
-- Nodes of the version before make and replace pairs `default`.
ALTER TABLE "API_KEYS" ADD COLUMN "NAME" TEXT COLLATE "C" NOT NULL DEFAULT 'default';
ALTER TABLE "API_KEYS" ADD COLUMN "SCOPE" TEXT COLLATE "C" NOT NULL DEFAULT 'write';

-- The calls of USAGE_MONTHS by the pair of keys they came with, changed in the same transaction, and the last of them. An
-- ended pair keeps its rows, so the name is here. Nodes of the version before do not count by pair.
CREATE TABLE "KEY_USAGE" (
  "TEAM_ID" TEXT COLLATE "C" NOT NULL, "MONTH" TEXT COLLATE "C" NOT NULL, "API_ID" TEXT COLLATE "C" NOT NULL, "NAME" TEXT COLLATE "C" NOT NULL,
  "CALLS" BIGINT NOT NULL, "USED_AT" TEXT COLLATE "C" NOT NULL, PRIMARY KEY ("TEAM_ID", "MONTH", "API_ID")
) WITH (fillfactor = 50);
