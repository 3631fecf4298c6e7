-- The change feed. A row has the changes of one commit: BEFORE is the position before the first, SEQ the number of the last. Numbers go on from the
-- newest row, which is never deleted, under the lock of the tenant, so they become visible in their order.
CREATE TABLE "CHANGES" ("SEQ" BIGINT PRIMARY KEY, "BEFORE" BIGINT NOT NULL, "AT" TEXT COLLATE "C" NOT NULL, "CHANGED" TEXT COLLATE "C" NOT NULL);
