-- The change feed. SQLite gives a new row the number after the highest, so the newest row is never deleted. The first row is only a position.
CREATE TABLE CHANGES (
  SEQ INTEGER PRIMARY KEY, TYPE TEXT NOT NULL, KEY TEXT NOT NULL, CHANGE TEXT NOT NULL, AT TEXT NOT NULL, OPERATION TEXT NOT NULL
) STRICT;
INSERT INTO CHANGES VALUES (0, '', '', '', strftime('%Y-%m-%dT%H:%M:%fZ'), '');
