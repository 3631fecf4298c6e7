/**
 * A tenant with everything that is hard to move from one store to another: odd text in keys, values and searched
 * fields, values of the maximum length, custom fields with awkward names, committed stock, and a cancelled order.
 */
import { succeed, type Shop, type Values } from '../kit/records.ts';

/** Cuts a text by characters, never in the middle of one. */
export const cut = (text: string, from: number, to: number): string => Array.from(text).slice(from, to).join('');
export const ODD = [
  'Müller & Söhne',
  'STRASSE straße',
  'İstanbul ılık',
  '茶の湯 𝒳',
  '👩‍👩‍👧 family',
  'a\u0301 combined',
  '"quoted", \\n {x} NULL',
  '\t\u2028 \ufeff',
  "it's; --",
  '$1 ? %_',
];
/** Custom fields with names that a store might mistake for its own. */
export const OWN_FIELDS: [string, string, string][] = [
  ['orders', 'ZULU', 'text'],
  ['orders', 'ALPHA', 'number'],
  ['orders', 'SEARCH', 'text'],
  ['orders', 'FOLDED', 'text'],
  ['orders', 'CALLS', 'text'],
  ['orders', 'STRICT', 'text'],
  ['lines', 'NEXT', 'date'],
  ['customers', 'SECRET_HASH', 'text'],
  ['inventory', 'KEPT_COLD', 'flag'],
];

/** Loads the records and the fields. */
export async function fill(shop: Shop): Promise<void> {
  for (const [recordType, name, type] of OWN_FIELDS)
    await shop.run('fields', 'add', shop.keys.teamID, recordType, name, '--type', type);
  const customer = (text: string, index: number): Values => ({
    CUSTOMER_CODE: index % 2 ? `C${index}` : `${text} ${index}`,
    CUSTOMER_NAME: text,
    NOTES: text,
    SECRET_HASH: text,
  });
  const stock = { QTY_ONHAND: '100', UNIT_PRICE: '9.5', KEPT_COLD: 'Y' };
  await shop.load('customers', ODD.map(customer));
  await shop.load(
    'inventory',
    ODD.map((text, index) => ({ PART_CODE: `P-${index}`, PART_DESCRIPTION: text, ...stock })),
  );
  const numbers = ['7', '0007', '12345678901234567890', 'Ä-1', 'z', '\u{10ffff}', '\uffee', 'B', 'b', '~'];
  const orders = numbers.map((number, index): Values => {
    const text = ODD[index]!;
    const own = { ZULU: text, ALPHA: '1.5', SEARCH: text, FOLDED: 'x', CALLS: 'many', STRICT: 'very' };
    return {
      ORDER_NUMBER: number,
      ORDER_TYPE: 'sales_order',
      REFERENCE_NUMBER: `#${index} ${text}`,
      BNAME: text,
      NOTES: index % 4 === 0 ? cut(text.repeat(8192), 0, 8192) : text,
      ...own,
    };
  });
  await shop.load('orders', orders);
  const line = (number: string, index: number): Values => ({
    ORDER_NUMBER: number,
    PART_CODE: `P-${index}`,
    QUANTITY: '2',
    UNIT_PRICE: '1.25',
    NEXT: '1/2/2026',
  });
  await shop.load(
    'lines',
    [...numbers, ...numbers].map((number, index) => line(number, index % 10)),
  );
  await succeed(shop.cancelOrder({ ORDER_NUMBER: 'b' }));
}
