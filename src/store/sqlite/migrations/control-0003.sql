-- What the installation signs with: random, made once, never given out.
CREATE TABLE SECRETS (NAME TEXT PRIMARY KEY, SECRET BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO SECRETS VALUES ('cursors', randomblob(32));
