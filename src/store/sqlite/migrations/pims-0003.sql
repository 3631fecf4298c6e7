-- Stands for the state of a record: another text with every write of it, and for an order of its lines. Records from before share one, drawn by the
-- migration. Names of fields begin with a letter, so no field of a tenant's own meets it.
ALTER TABLE ORDERS ADD COLUMN _VERSION TEXT NOT NULL DEFAULT '$VERSION';
ALTER TABLE CUSTOMER ADD COLUMN _VERSION TEXT NOT NULL DEFAULT '$VERSION';
ALTER TABLE INVENTORY ADD COLUMN _VERSION TEXT NOT NULL DEFAULT '$VERSION';
