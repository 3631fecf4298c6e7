-- Which totals of the order are kept from its lines: 'S' SUBTOTAL, 'T' ORDER_TOTAL. Orders from before keep what they have.
ALTER TABLE ORDERS ADD COLUMN _TOTALS TEXT NOT NULL DEFAULT '';
