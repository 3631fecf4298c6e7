-- Which order a partial invoice left, by the order it was of: a line that moved there is found under its old order.
CREATE TABLE BACKORDERS (ORDER_NUMBER TEXT PRIMARY KEY, BACKORDER TEXT NOT NULL) STRICT, WITHOUT ROWID;
