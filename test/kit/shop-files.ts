/**
 * Small files in the shape of the exports of eight shop systems and spreadsheets, with invented records. Each has what
 * its system is known for: marks before phone numbers, text over lines, byte order marks, rows of separators.
 */
import type { RecordType } from '../../src/pims/rules/fields.ts';

export interface ShopFile {
  readonly recordType: Exclude<RecordType, 'lines'>;
  /** The columns that are not named like their field. */
  readonly columns: Readonly<Record<string, string>>;
  readonly content: Buffer;
  /** The imported cells of `fields`, in the order of the keys. */
  readonly fields: string;
  readonly records: readonly string[];
}

const utf16 = (text: string) => Buffer.from(`\u{feff}${text}`, 'utf16le');
/** Windows-1252 has the euro sign where Latin-1 has a control character. */
const windows = (text: string) => Buffer.from(text.replaceAll('€', '\u{80}'), 'latin1');

export const SHOP_FILES: Readonly<Record<string, ShopFile>> = {
  Shopify: {
    recordType: 'customers',
    columns: {
      'Customer ID': 'CUSTOMER_CODE',
      'Default Address Company': 'CUSTOMER_NAME',
      'Default Address Zip': 'BZIPCODE',
      Phone: 'BPHONE',
      Note: 'NOTES',
    },
    content:
      Buffer.from(`Customer ID,First Name,Last Name,Email,Accepts Email Marketing,Default Address Company,Default Address Address1,Default Address City,Default Address Zip,Phone,Total Spent,Note,Tags
'7012345678901,Ann,Example,ann@example.com,yes,Example & Sons,1 Quay,Kiel,'01234,'+49 431 5550100,120.50,"First line
=second line",
'7012345678902,Bo,Example,,no,,,,,,0.00,,
`),
    fields: 'CUSTOMER_NAME BZIPCODE BPHONE NOTES',
    records: ['7012345678901|Example & Sons|01234|+49 431 5550100|First line\n=second line', '7012345678902||||'],
  },
  WooCommerce: {
    recordType: 'inventory',
    columns: {
      SKU: 'PART_CODE',
      Name: 'PART_DESCRIPTION',
      Stock: 'QTY_ONHAND',
      'Regular price': 'UNIT_PRICE',
      Categories: 'CATEGORY',
    },
    content:
      Buffer.from(`\u{feff}ID,Type,SKU,Name,Published,"Is featured?","Short description","In stock?",Stock,"Regular price",Categories,Images
10,simple,W-1,"Teapot, 1 l",1,0,"<p>Says ""hi""</p>",1,5,19.99,Kitchen,https://example.com/1.jpg
11,simple,W-2,'-20% Cup,1,0,,1,-2,4.5,"Kitchen, Sale",
`),
    fields: 'PART_DESCRIPTION QTY_ONHAND UNIT_PRICE CATEGORY',
    records: ['W-1|Teapot, 1 l|5|19.99|Kitchen', 'W-2|-20% Cup|-2|4.5|Kitchen, Sale'],
  },
  Square: {
    recordType: 'inventory',
    columns: {
      SKU: 'PART_CODE',
      'Item Name': 'PART_DESCRIPTION',
      Price: 'UNIT_PRICE',
      'Current Quantity Main Street': 'QTY_ONHAND',
      GTIN: 'BARCODE',
    },
    content:
      Buffer.from(`Token,Item Name,Variation Name,SKU,Description,Category,GTIN,Price,Current Quantity Main Street,Tax - VAT (20%)
ABCDEF,Scarf,Regular,S-1,"Wool, red",Clothes,2001234567893,25.00,3,Y
GHIJKL,Hat,Regular,S-2,,Clothes,,12.00,,N
`),
    fields: 'PART_DESCRIPTION CATEGORY BARCODE UNIT_PRICE QTY_ONHAND',
    records: ['S-1|Scarf|Clothes|2001234567893|25|3', 'S-2|Hat|Clothes||12|0'],
  },
  Lightspeed: {
    recordType: 'inventory',
    columns: {
      sku: 'PART_CODE',
      name: 'PART_DESCRIPTION',
      supply_price: 'UNIT_COST',
      retail_price: 'UNIT_PRICE',
      inventory_Main_Outlet: 'QTY_ONHAND',
    },
    content: Buffer.from(`"id","handle","sku","name","description","supply_price","retail_price","inventory_Main_Outlet"
"0a1b","lamp","L-1","Lamp ""Sol""","","10.00","29.90","7"
"0a1c","lamp","L-2","Lamp 40""","Two
lines","11.50","31","0"
`),
    fields: 'PART_DESCRIPTION UNIT_COST UNIT_PRICE QTY_ONHAND',
    records: ['L-1|Lamp "Sol"|10|29.9|7', 'L-2|Lamp 40"|11.5|31|0'],
  },
  Magento: {
    recordType: 'inventory',
    columns: {
      sku: 'PART_CODE',
      name: 'PART_DESCRIPTION',
      categories: 'CATEGORY',
      price: 'UNIT_PRICE',
      qty: 'QTY_ONHAND',
    },
    content:
      Buffer.from(`sku,store_view_code,attribute_set_code,product_type,categories,name,description,price,additional_attributes,qty
M-1,,Default,simple,"Default Category/Gear,Default Category/Gear/Bags",Bag,"<p>A bag</p>",34.0000,"color=Red,size=""L, XL""",15.0000
`),
    fields: 'PART_DESCRIPTION CATEGORY UNIT_PRICE QTY_ONHAND',
    records: ['M-1|Bag|Default Category/Gear,Default Category/Gear/Bags|34|15'],
  },
  BigCommerce: {
    recordType: 'orders',
    columns: {
      'Order ID': 'ORDER_NUMBER',
      'Customer ID': 'CUSTOMER_CODE',
      'Order Date': 'ORDER_DATE',
      'Order Total (inc tax)': 'ORDER_TOTAL',
      'Billing Phone': 'BPHONE',
      'Order Notes': 'NOTES',
    },
    content: Buffer.from(
      'Order ID,Customer ID,Order Date,Order Status,Order Total (inc tax),Billing Phone,Order Notes,,\r\n501,7,10/28/2026,Shipped,59.9500,\'+1 555 0100,"Leave at door\r\nRing twice",,\r\n502,,10/29/2026,Pending,-5.0000,,,,\r\n,,,,,,,,\r\n',
    ),
    fields: 'CUSTOMER_CODE ORDER_DATE ORDER_TOTAL BPHONE NOTES',
    records: ['501|7|10/28/2026|59.95|+1 555 0100|Leave at door\r\nRing twice', '502||10/29/2026|-5||'],
  },
  'Excel in German': {
    recordType: 'inventory',
    columns: {
      Artikelnummer: 'PART_CODE',
      Bezeichnung: 'PART_DESCRIPTION',
      Preis: 'UNIT_PRICE',
      Einkauf: 'UNIT_COST',
      Bestand: 'QTY_ONHAND',
    },
    content: windows(
      'Artikelnummer;Bezeichnung;Preis;Einkauf;Bestand;;\r\nE-1;Stra\u{df}enlampe, gr\u{fc}n, 5 €;1.234,50;0,12;-3;;\r\n;;;;;;\r\nE-2;"10"" Rohr";12,5;4;1,25;;\r\n;;;;;;\r\n',
    ),
    fields: 'PART_DESCRIPTION UNIT_PRICE UNIT_COST QTY_ONHAND',
    records: ['E-1|Stra\u{df}enlampe, gr\u{fc}n, 5 €|1234.5|0.12|-3', 'E-2|10" Rohr|12.5|4|1.25'],
  },
  'Excel in UTF-16': {
    recordType: 'customers',
    columns: { Code: 'CUSTOMER_CODE', Name: 'CUSTOMER_NAME', City: 'BCITY' },
    content: utf16('Code\tName\tCity\r\nU-1\t"Søren ""S"" Ωmega"\t東京\r\nU-2\tTwo, words; here\t\r\n'),
    fields: 'CUSTOMER_NAME BCITY',
    records: ['U-1|Søren "S" Ωmega|東京', 'U-2|Two, words; here|'],
  },
};
