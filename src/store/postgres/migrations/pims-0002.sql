-- Room in each page for new versions of its rows: a version that changes no indexed field stays in the page, and then no index is written.
-- Pages that are full already are left as they are; the rows move into others as they change.
ALTER TABLE "ORDERS" SET (fillfactor = 85);
ALTER TABLE "CUSTOMER" SET (fillfactor = 85);
ALTER TABLE "INVENTORY" SET (fillfactor = 85);
