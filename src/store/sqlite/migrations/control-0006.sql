-- What the service that started last leaves for commands: its version, and the address it is reached at.
CREATE TABLE INSTALLATION (NAME TEXT PRIMARY KEY, VALUE TEXT NOT NULL) STRICT, WITHOUT ROWID;
