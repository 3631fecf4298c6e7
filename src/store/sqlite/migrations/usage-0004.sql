-- Metered calls, in a separate file: pages that every commit writes again would lengthen the log that reads of records search.
CREATE TABLE USAGE (
  TEAM_ID TEXT NOT NULL, DAY TEXT NOT NULL, OPERATION TEXT NOT NULL, CALLS INTEGER NOT NULL,
  PRIMARY KEY (TEAM_ID, DAY, OPERATION)
) STRICT, WITHOUT ROWID;
-- The calls of a month: of a tenant if API_ID is '' (the sum of USAGE, because every response has it), otherwise of a pair of
-- keys, with the time of the last. Both are in one table because every commit changes both: adjacent rows are one page of the
-- log. An ended pair keeps its rows, so the name is here.
CREATE TABLE MONTH_USAGE (
  TEAM_ID TEXT NOT NULL, MONTH TEXT NOT NULL, API_ID TEXT NOT NULL, NAME TEXT NOT NULL, CALLS INTEGER NOT NULL, USED_AT TEXT NOT NULL,
  PRIMARY KEY (TEAM_ID, MONTH, API_ID)
) STRICT, WITHOUT ROWID;
-- The two tables that PostgreSQL has, as views for reads and moves.
CREATE VIEW USAGE_MONTHS AS SELECT TEAM_ID, MONTH, CALLS FROM MONTH_USAGE WHERE API_ID = '';
CREATE VIEW KEY_USAGE AS SELECT TEAM_ID, MONTH, API_ID, NAME, CALLS, USED_AT FROM MONTH_USAGE WHERE API_ID <> '';
CREATE TRIGGER USAGE_MONTHS_INSERT INSTEAD OF INSERT ON USAGE_MONTHS
  BEGIN INSERT INTO MONTH_USAGE VALUES (NEW.TEAM_ID, NEW.MONTH, '', '', NEW.CALLS, ''); END;
CREATE TRIGGER KEY_USAGE_INSERT INSTEAD OF INSERT ON KEY_USAGE
  BEGIN INSERT INTO MONTH_USAGE VALUES (NEW.TEAM_ID, NEW.MONTH, NEW.API_ID, NEW.NAME, NEW.CALLS, NEW.USED_AT); END;

-- The store of the file. TEAM_ID is the tenant, in the file of a tenant.
CREATE TABLE OWNER (IDENTITY TEXT NOT NULL, TEAM_ID TEXT NOT NULL) STRICT;
INSERT INTO OWNER VALUES ('$IDENTITY', '$TEAM_ID');
