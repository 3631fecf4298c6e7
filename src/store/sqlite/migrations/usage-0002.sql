-- The calls of USAGE_MONTHS by the pair of keys they came with, changed in the same transaction, and the last of them. An
-- ended pair keeps its rows, so the name is here.
CREATE TABLE KEY_USAGE (
  TEAM_ID TEXT NOT NULL, MONTH TEXT NOT NULL, API_ID TEXT NOT NULL, NAME TEXT NOT NULL, CALLS INTEGER NOT NULL, USED_AT TEXT NOT NULL,
  PRIMARY KEY (TEAM_ID, MONTH, API_ID)
) STRICT, WITHOUT ROWID;
