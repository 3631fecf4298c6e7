-- Which order a partial invoice left, by the order it was of: a line that moved there is found under its old order.
CREATE TABLE "BACKORDERS" ("ORDER_NUMBER" TEXT COLLATE "C" PRIMARY KEY, "BACKORDER" TEXT COLLATE "C" NOT NULL);
