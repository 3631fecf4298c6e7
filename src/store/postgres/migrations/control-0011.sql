-- Failed sign-ins of names without an account. Each slot keeps the last name that belongs to it.
CREATE TABLE "UNKNOWN_NAMES" (
  "SLOT" INTEGER PRIMARY KEY,
  "NAME_HASH" BYTEA NOT NULL,
  "FAILURES" INTEGER NOT NULL,
  "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL
);
