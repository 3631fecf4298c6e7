"""Tests that the types of the Python client name the fields of the contract."""

import json, typing, unittest
from pathlib import Path

import storeroom

SCHEMAS = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())["components"]["schemas"]


def fields_of(schema):
    if "$ref" in schema:
        return fields_of(SCHEMAS[schema["$ref"].split("/")[-1]])
    return set(schema.get("properties", ())).union(*[fields_of(one) for one in schema.get("allOf", ())])


class Types(unittest.TestCase):
    def test_editors_can_offer_the_fields_of_each_record_type(self):
        for name in ("Order", "OrderLine", "Customer", "InventoryItem"):
            (literal,) = typing.get_args(getattr(storeroom, name))
            self.assertEqual(set(typing.get_args(literal)), fields_of(SCHEMAS[name]), name)

    def test_editors_can_offer_the_fields_that_a_write_takes(self):
        names = ("NewOrder", "OrderChange", "NewOrderLine", "OrderLineChange", "NewCustomer", "CustomerChange")
        for name in (*names, "NewPart", "PartChange"):
            self.assertEqual(set(typing.get_type_hints(getattr(storeroom, name))), fields_of(SCHEMAS[name]), name)

    def test_editors_can_offer_what_an_invoice_and_a_change_of_stock_take_and_what_they_return(self):
        lines = SCHEMAS["Invoice"]["properties"]["lines"]["items"]
        for name, schema, named in (
            ("InvoiceLine", lines, set()),
            ("InvoiceDetails", SCHEMAS["Invoice"], {"ORDER_NUMBER"}),
            ("ReturnLine", SCHEMAS["Return"]["properties"]["lines"]["items"], set()),
            ("ReturnDetails", SCHEMAS["Return"], {"ORDER_NUMBER"}),
            ("StockDetails", SCHEMAS["StockCount"], {"PART_CODE", "QUANTITY"}),
        ):
            hints = typing.get_type_hints(getattr(storeroom, name))
            self.assertEqual(set(hints), fields_of(schema) - named, name)
        (literal,) = typing.get_args(storeroom.AdvancedOrder)
        self.assertEqual(set(typing.get_args(literal)), fields_of(SCHEMAS["AdvancedOrder"]))


if __name__ == "__main__":
    unittest.main()
