-- What the installation signs with: random, made once, the same for all nodes, never given out. A UUID has 122 random bits.
CREATE TABLE "SECRETS" ("NAME" TEXT COLLATE "C" PRIMARY KEY, "SECRET" BYTEA NOT NULL);
INSERT INTO "SECRETS" VALUES ('cursors', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
