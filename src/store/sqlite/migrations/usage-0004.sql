-- Metered calls, in a file of their own: pages rewritten at every commit would lengthen the log that reads of records look through.
CREATE TABLE USAGE (
  TEAM_ID TEXT NOT NULL, DAY TEXT NOT NULL, OPERATION TEXT NOT NULL, CALLS INTEGER NOT NULL,
  PRIMARY KEY (TEAM_ID, DAY, OPERATION)
) STRICT, WITHOUT ROWID;
-- The calls of a month: of a tenant, where API_ID is '' (the sum of USAGE, since every response carries it), and of each pair
-- of keys they came with, and the last of them. One table, as every commit changes both: rows side by side are one page of
-- the log. An ended pair keeps its rows, so the name is here.
CREATE TABLE MONTH_USAGE (
  TEAM_ID TEXT NOT NULL, MONTH TEXT NOT NULL, API_ID TEXT NOT NULL, NAME TEXT NOT NULL, CALLS INTEGER NOT NULL, USED_AT TEXT NOT NULL,
  PRIMARY KEY (TEAM_ID, MONTH, API_ID)
) STRICT, WITHOUT ROWID;
-- As the two tables that PostgreSQL has, to read and to move.
CREATE VIEW USAGE_MONTHS AS SELECT TEAM_ID, MONTH, CALLS FROM MONTH_USAGE WHERE API_ID = '';
CREATE VIEW KEY_USAGE AS SELECT TEAM_ID, MONTH, API_ID, NAME, CALLS, USED_AT FROM MONTH_USAGE WHERE API_ID <> '';
CREATE TRIGGER USAGE_MONTHS_INSERT INSTEAD OF INSERT ON USAGE_MONTHS
  BEGIN INSERT INTO MONTH_USAGE VALUES (NEW.TEAM_ID, NEW.MONTH, '', '', NEW.CALLS, ''); END;
CREATE TRIGGER KEY_USAGE_INSERT INSTEAD OF INSERT ON KEY_USAGE
  BEGIN INSERT INTO MONTH_USAGE VALUES (NEW.TEAM_ID, NEW.MONTH, NEW.API_ID, NEW.NAME, NEW.CALLS, NEW.USED_AT); END;

-- The store of the file. TEAM_ID is the tenant, in the file of a tenant.
CREATE TABLE OWNER (IDENTITY TEXT NOT NULL, TEAM_ID TEXT NOT NULL) STRICT;
INSERT INTO OWNER VALUES ('$IDENTITY', '$TEAM_ID');
