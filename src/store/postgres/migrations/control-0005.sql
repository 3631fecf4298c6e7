-- When the user of a session last proved who they are; failed proofs are counted by session. '' : before this column.
ALTER TABLE "SESSIONS" ADD COLUMN "PROVEN_AT" TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE "SESSIONS" ADD COLUMN "FAILURES" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "SESSIONS" ADD COLUMN "NEXT_TRY_AT" TEXT COLLATE "C" NOT NULL DEFAULT '';
