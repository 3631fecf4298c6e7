-- A part of a search index is rewritten for its outdated records at 40 %, not at 10 %; smaller pages make merges shorter.
INSERT INTO ORDERS_SEARCH (ORDERS_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);
INSERT INTO CUSTOMER_SEARCH (CUSTOMER_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);
INSERT INTO INVENTORY_SEARCH (INVENTORY_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);
