-- One tenant's inventory system: the shared tables, and what finds their rows. *_SEARCH is the trigram index over folded text.
$TABLES
-- An index of a date has its year first.
CREATE INDEX ORDERS_ORDER_DATE ON ORDERS ((substr("ORDER_DATE", 7) || substr("ORDER_DATE", 1, 5)), SORT_KEY);
CREATE INDEX ORDERS_MODIFIED_DATE ON ORDERS (MODIFIED_DATE, SORT_KEY);
CREATE VIRTUAL TABLE ORDERS_SEARCH USING fts5(FOLDED, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1');

CREATE INDEX CUSTOMER_MODIFIED_DATE ON CUSTOMER (MODIFIED_DATE, SORT_KEY);
CREATE VIRTUAL TABLE CUSTOMER_SEARCH USING fts5(FOLDED, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1');

CREATE INDEX INVENTORY_MODIFIED_DATE ON INVENTORY (MODIFIED_DATE, SORT_KEY);
CREATE VIRTUAL TABLE INVENTORY_SEARCH USING fts5(FOLDED, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1');

-- SORT_KEY (sortKeyOfLine in pims/rules/values.ts) sorts lines as their orders, then by number. It finds the lines of an order, too:
-- another index would cost each new line a page.
CREATE TABLE ORDER_LINEITEMS (
  SORT_KEY TEXT PRIMARY KEY, ORDER_NUMBER TEXT NOT NULL, LINE_NUMBER INTEGER NOT NULL,
  $FIELDS(PART_CODE, DESCRIPTION, QUANTITY, NUMBER_SHIPPED, UNIT_PRICE, DISCOUNT, SERIAL_NUMBERS, CARE_PLAN,
    LINE_REF_LOCK_CODE, CREATE_DATE, MODIFIED_DATE)
) STRICT, WITHOUT ROWID;
$INDEXES(ORDER_LINEITEMS: PART_CODE, LINE_REF_LOCK_CODE)

CREATE TABLE CUSTOM_FIELDS (RECORD_TYPE TEXT NOT NULL, NAME TEXT NOT NULL, TYPE TEXT NOT NULL, UNIQUE (RECORD_TYPE, NAME)) STRICT;

-- A part of a search index is rewritten for its outdated records at 40 %, not at 10 %; smaller pages make merges shorter.
INSERT INTO ORDERS_SEARCH (ORDERS_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);
INSERT INTO CUSTOMER_SEARCH (CUSTOMER_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);
INSERT INTO INVENTORY_SEARCH (INVENTORY_SEARCH, rank) VALUES ('deletemerge', 40), ('pgsz', 1000);

-- The store of the file. TEAM_ID is the tenant, in the file of a tenant.
CREATE TABLE OWNER (IDENTITY TEXT NOT NULL, TEAM_ID TEXT NOT NULL) STRICT;
INSERT INTO OWNER VALUES ('$IDENTITY', '$TEAM_ID');
