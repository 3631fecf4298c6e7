-- What the node that started last leaves for commands: its version, and the address it is reached at.
CREATE TABLE "INSTALLATION" ("NAME" TEXT COLLATE "C" PRIMARY KEY, "VALUE" TEXT COLLATE "C" NOT NULL);
