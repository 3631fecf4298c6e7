-- 'Y' for an order that cancelOrder or an import has cancelled. ORDER_STATUS alone does not tell: it is free text.
ALTER TABLE ORDERS ADD COLUMN _CANCELLED TEXT NOT NULL DEFAULT '';
