/**
 * Routes of the pages of records beyond the operations: the history of an order, the ledger of a part and who waits for
 * it, the field dictionary, and imports of tables. The rules are in src/pims/operations.ts and src/pims/import.ts.
 */
import { POSITION } from '../../administration/action.ts';
import { orThrow } from '../../errors.ts';
import { listOf, objectOf, oneOf, required, textOf, type TypedSchema } from '../../json-schema.ts';
import { importTable } from '../../pims/import-rows.ts';
import { addField, listHistory, listWaiting } from '../../pims/operations.ts';
import { subtractDecimals } from '../../pims/rules/decimal.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type RecordType } from '../../pims/rules/fields.ts';
import { splitList } from '../../pims/rules/lists.ts';
import { FIELDS_MAX } from '../../pims/rules/record-bounds.ts';
import { declareChange, pick, declareRead } from './typed-route.ts';

const any = textOf();
const filled = required();
const flag: TypedSchema<boolean> = { type: 'boolean' };
const ORDER = objectOf({ ORDER_NUMBER: filled });
const PART = objectOf({ PART_CODE: filled });
const RECORD_TYPE_NAMES = Object.keys(RECORD_TYPES) as RecordType[];
const recordType = oneOf(RECORD_TYPE_NAMES);

const ORDER_ROUTES = {
  /** The changes of an order, newest first, from the change feed. */
  'GET /orders/history': declareRead(
    'viewer',
    async ({ pims, signal }, { ORDER_NUMBER }) => listHistory(await pims(), 'orders', ORDER_NUMBER, signal),
    ORDER,
  ),
};

const MOVEMENTS_PAGE = 100;

type WaitingFields = Record<'ORDER_NUMBER' | 'ORDER_DATE' | 'CUSTOMER_CODE' | 'BNAME', string>;

const STOCK_ROUTES = {
  /** Returns the movements, newest first, at most 100. `next` is the `before` of the next page. */
  'GET /stock/movements': declareRead(
    'viewer',
    async ({ pims, signal }, { PART_CODE, before = Number.MAX_SAFE_INTEGER }) => {
      const rows = orThrow(
        await (await pims()).look('movements', signal, PART_CODE, 'before', Number(before), MOVEMENTS_PAGE),
      );
      const last = rows.at(-1)?.NUMBER ?? 1;
      const movements = rows.map((row) => ({
        number: row.NUMBER,
        at: row.AT,
        kind: row.KIND,
        quantity: row.QUANTITY,
        /** QTY_ONHAND before the movement. */
        before: subtractDecimals(row.AFTER, row.QUANTITY),
        after: row.AFTER,
        reason: row.REASON,
        by: row.DONE_BY,
        orderNumber: row.ORDER_NUMBER,
        serials: splitList(row.SERIALS),
      }));
      return { movements, next: last > 1 ? last : null };
    },
    objectOf({ PART_CODE: filled }, { before: POSITION }),
  ),
  'GET /stock/waiting': declareRead(
    'viewer',
    async ({ pims, signal }, { PART_CODE }) => {
      const waiting = await listWaiting(await pims(), PART_CODE, signal);
      return { orders: waiting.map(({ order, ...about }) => ({ ...(order as WaitingFields), ...about })) };
    },
    PART,
  ),
  /** The parts that have a unit with this serial number, and the invoice that sold it. */
  'GET /stock/serial': declareRead(
    'viewer',
    async ({ pims, signal }, { serial }) => ({
      units: [...orThrow(await (await pims()).look('serials', signal, serial))],
    }),
    objectOf({ serial: filled }),
  ),
};

/** The proof that each change needs is decided in decision 0023. */
export const RECORD_ROUTES = {
  ...ORDER_ROUTES,
  ...STOCK_ROUTES,
  /** Imports at most 200 rows of a table. `isDry` only checks them. UNKNOWN_FIELD, COMMAND_REFUSED. */
  'POST /imports': declareChange(
    'clerk',
    'none',
    objectOf({
      recordType,
      file: filled,
      fields: listOf(any, { minItems: 1, maxItems: FIELDS_MAX }),
      rows: listOf(listOf(any, { maxItems: FIELDS_MAX }), { maxItems: 200 }),
      updates: flag,
      isDry: flag,
    }),
    async ({ pims, note, writeOptions }, { recordType: of, file, updates, isDry, ...table }) => {
      const done = await importTable(await pims(), of, table, { ...writeOptions, updates, isDry });
      const { imported, updated, rejected } = done;
      const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected.length) };
      if (imported + updated > 0) await note('records imported', of, { file, ...counts });
      return done;
    },
  ),
  'GET /fields': declareRead('viewer', async ({ pims }) => {
    const dictionaries = await (await pims()).dictionaries();
    const listOfType = (of: RecordType) =>
      [...dictionaries[of].values()].map((field) =>
        pick(field, 'name', 'type', 'assigned', 'indexed', 'searched', 'custom'),
      );
    const fields = Object.fromEntries(RECORD_TYPE_NAMES.map((of) => [of, listOfType(of)]));
    return { fields: fields as Record<RecordType, ReturnType<typeof listOfType>> };
  }),
  /** Adds a custom field. COMMAND_REFUSED. */
  'POST /fields': declareChange(
    'developer',
    'none',
    objectOf({ recordType, name: any, type: oneOf(CUSTOM_FIELD_TYPES) }),
    async ({ pims, note, writeOptions }, field) => {
      await addField(await pims(), field, writeOptions);
      await note('field added', field.name, { recordType: field.recordType, type: field.type });
    },
  ),
};
