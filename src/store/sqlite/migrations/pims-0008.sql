-- The change feed. A row has the changes of one write: BEFORE is the position before the first, SEQ the number of the last. Numbers go on from the newest row, which is never deleted.
CREATE TABLE CHANGES (SEQ INTEGER PRIMARY KEY, BEFORE INTEGER NOT NULL, AT TEXT NOT NULL, CHANGED TEXT NOT NULL) STRICT;
