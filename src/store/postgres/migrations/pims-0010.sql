-- The trigger "ORDER_LINEITEMS_VERSION" was for nodes before 0.1.0, which did not move the version of an order with its lines.
DROP FUNCTION IF EXISTS "MOVE_VERSION_OF_ORDER" CASCADE;
