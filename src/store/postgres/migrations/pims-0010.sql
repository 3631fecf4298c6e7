-- Triggers for nodes that did not move the versions of orders, or record changes and movements of stock: before 0.2.0.
DROP FUNCTION IF EXISTS "MOVE_VERSION_OF_ORDER", "RECORD_CHANGE", "KEEP_LEDGER" CASCADE;
