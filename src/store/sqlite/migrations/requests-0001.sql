-- The request log, in a file of its own. A block holds the requests of one tenant for a moment, as compressed lines of JSON. It is long, so it lies in a
-- table with row numbers, where a search by key passes over it; BLOCK_ID begins with the time of its last request.
CREATE TABLE REQUESTS (
  TEAM_ID TEXT NOT NULL, BLOCK_ID TEXT NOT NULL, FIRST_AT TEXT NOT NULL, BOOT TEXT NOT NULL, FIRST_NUMBER INTEGER NOT NULL, LAST_NUMBER INTEGER NOT NULL,
  LINES BLOB NOT NULL, PRIMARY KEY (TEAM_ID, BLOCK_ID)
) STRICT;
CREATE INDEX REQUESTS_NUMBERS ON REQUESTS (TEAM_ID, BOOT, FIRST_NUMBER, LAST_NUMBER);

-- Calls that were answered with a status of 400 and more.
CREATE TABLE REFUSALS (
  TEAM_ID TEXT NOT NULL, DAY TEXT NOT NULL, OPERATION TEXT NOT NULL, CALLS INTEGER NOT NULL,
  PRIMARY KEY (TEAM_ID, DAY, OPERATION)
) STRICT, WITHOUT ROWID;

-- The last call with each key. USED_IN_URL_AT is '' when its secret never came in a URL.
CREATE TABLE KEY_USES (
  TEAM_ID TEXT NOT NULL, API_ID TEXT NOT NULL, USED_AT TEXT NOT NULL, CLIENT TEXT NOT NULL, USED_IN_URL_AT TEXT NOT NULL,
  PRIMARY KEY (TEAM_ID, API_ID)
) STRICT, WITHOUT ROWID;
