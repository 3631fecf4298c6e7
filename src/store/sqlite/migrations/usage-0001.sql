-- Metered calls, in a file of their own: pages rewritten at every commit would lengthen the log that reads of records look through.
-- USAGE_MONTHS is the sum of USAGE over the month, kept with it in one transaction because every answer carries it.
CREATE TABLE USAGE (
  TEAM_ID TEXT NOT NULL, DAY TEXT NOT NULL, OPERATION TEXT NOT NULL, CALLS INTEGER NOT NULL,
  PRIMARY KEY (TEAM_ID, DAY, OPERATION)
) STRICT, WITHOUT ROWID;
CREATE TABLE USAGE_MONTHS (TEAM_ID TEXT NOT NULL, MONTH TEXT NOT NULL, CALLS INTEGER NOT NULL, PRIMARY KEY (TEAM_ID, MONTH)) STRICT, WITHOUT ROWID;
