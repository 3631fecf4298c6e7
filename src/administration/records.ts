/**
 * The records of a tenant beyond the operations: the field dictionary, imports of tables, the history of an order, and
 * stock: received, counted and adjusted at the command line, the ledger, and who waits. The rules are in src/pims.
 */
import { orThrow } from '../errors.ts';
import { booleanOf, listOf, objectOf, oneOf, required, textOf } from '../json-schema.ts';
import type { BatchOperation } from '../pims/batch.ts';
import { importTable } from '../pims/import-rows.ts';
import { addField, listHistory, listWaiting } from '../pims/operations.ts';
import { subtractDecimals } from '../pims/rules/decimal.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type RecordType } from '../pims/rules/fields.ts';
import { splitList } from '../pims/rules/lists.ts';
import { FIELDS_MAX } from '../pims/rules/record-bounds.ts';
import { action, pick, POSITION, withHelp, type ActionContext } from './action.ts';
import { commitWrite } from './orders.ts';

const RECORD_TYPE_NAMES = Object.keys(RECORD_TYPES) as RecordType[];
const recordType = withHelp(oneOf(RECORD_TYPE_NAMES), 'record type', { title: 'type' });
const MARKS = ['assigned', 'indexed', 'custom'] as const;

const MOVEMENTS_PAGE = 100;
const COLUMNS = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER_NUMBER', 'DONE_BY', 'REASON', 'SERIALS'] as const;
const HEAD = COLUMNS.map((name) => name.replace(/^DONE_|_NUMBER$/, ''));
const PART_CODE = required();
const partCode = textOf(undefined, { title: 'part' });

type WaitingFields = Record<'ORDER_NUMBER' | 'ORDER_DATE' | 'CUSTOMER_CODE' | 'BNAME', string>;

const moveStock = (name: string, operation: BatchOperation, about: string, example?: string) =>
  action({
    about,
    takes: objectOf(
      { partCode, quantity: textOf() },
      {
        reason: textOf('reason to record in the stock ledger', { title: 'reason <text>' }),
        serial: withHelp(listOf(textOf()), 'serial numbers of the units, separated by commas', {
          title: 'serial <numbers>',
        }),
        from: textOf('the QTY_ONHAND that you read; if it is another now, nothing changes', {
          title: 'from <quantity>',
        }),
      },
    ),
    notes: operation,
    run: async (context, { partCode: code, quantity: QUANTITY, reason: REASON = '', serial = [], from }) => {
      const body = { PART_CODE: code, QUANTITY, REASON, SERIAL_NUMBERS: serial.join(','), FROM_QUANTITY: from };
      const { QTY_ONHAND } = await commitWrite<{ QTY_ONHAND: string }>(context, operation, body);
      return { QTY_ONHAND };
    },
    command: `stock ${name} <team> <partCode> <quantity>`,
    ...(example !== undefined && { example }),
    show: ({ partCode: code, QTY_ONHAND }) => [`Part ${code} has ${QTY_ONHAND} on hand.`],
  });

/** Loads movements of a part, newest first. */
const loadMovements = async ({ openPims, signal }: ActionContext, code: string, before?: string) =>
  orThrow(
    await (
      await openPims()
    ).look('movements', signal, code, 'before', Number(before ?? Number.MAX_SAFE_INTEGER), MOVEMENTS_PAGE),
  );

export const RECORDS = {
  'GET /fields': action({
    about: 'List the fields of one record type, or of all.',
    role: 'viewer',
    takes: objectOf({}, { recordType }),
    run: async ({ openPims }, { recordType: wanted }) => {
      const dictionaries = await (await openPims()).dictionaries();
      const listOfType = (of: RecordType) =>
        [...dictionaries[of].values()].map((field) =>
          pick(field, 'name', 'type', 'assigned', 'indexed', 'searched', 'custom'),
        );
      const fields = (wanted ? [wanted] : RECORD_TYPE_NAMES).map((of) => [of, listOfType(of)]);
      return { fields: Object.fromEntries(fields) as Record<RecordType, ReturnType<typeof listOfType>> };
    },
    command: 'fields list <team> [recordType]',
    example: 'orders',
    json: ({ fields }) => ({
      fields: Object.entries(fields).flatMap(([of, list]) => list.map((field) => ({ recordType: of, ...field }))),
    }),
    show: ({ fields }) => [
      Object.entries(fields).flatMap(([of, list]) =>
        list.map((field) => [of, field.name, field.type, MARKS.filter((mark) => field[mark]).join(', ')]),
      ),
    ],
  }),
  'POST /fields': action({
    about: 'Add a custom field. Fields cannot be removed.',
    role: 'developer',
    proof: 'none',
    takes: objectOf({
      recordType,
      name: textOf('uppercase letters, digits and _, beginning with a letter'),
      type: withHelp(oneOf(CUSTOM_FIELD_TYPES), 'type of its values'),
    }),
    notes: 'field added',
    /** Throws COMMAND_REFUSED. */
    run: async ({ openPims, note, writeOptions }, field) => {
      await addField(await openPims(), field, writeOptions);
      await note('field added', field.name, { recordType: field.recordType, type: field.type });
    },
    command: 'fields add <team> <recordType> <name>',
    example: '--type flag',
    json: ({ type }) => ({ type }),
    show: ({ teamID, name, type, recordType: of }) => [`Added the field ${name} (${type}) to the ${of} of ${teamID}.`],
  }),
  'POST /imports': action({
    about: 'Import at most 200 rows of a table, or only check them.',
    role: 'clerk',
    proof: 'none',
    takes: objectOf({
      recordType,
      file: required(),
      fields: listOf(textOf(), { minItems: 1, maxItems: FIELDS_MAX }),
      rows: listOf(listOf(textOf(), { maxItems: FIELDS_MAX }), { maxItems: 200 }),
      updates: booleanOf(),
      isDry: booleanOf(),
    }),
    notes: 'records imported',
    /** Throws UNKNOWN_FIELD or COMMAND_REFUSED. */
    run: async ({ openPims, note, writeOptions }, { recordType: of, file, updates, isDry, ...table }) => {
      const done = await importTable(await openPims(), of, table, { ...writeOptions, updates, isDry });
      const { imported, updated, rejected } = done;
      const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected.length) };
      if (imported + updated > 0) await note('records imported', of, { file, ...counts });
      return done;
    },
  }),
  'GET /orders/history': action({
    about: 'List the changes of an order, newest first, from the change feed.',
    role: 'viewer',
    takes: objectOf({ ORDER_NUMBER: required() }),
    run: async ({ openPims, signal }, { ORDER_NUMBER }) =>
      listHistory(await openPims(), 'orders', ORDER_NUMBER, signal),
  }),
  'stock receive': moveStock(
    'receive',
    'receiveStock',
    'Add received units to the stock of a part, and reduce QTY_ONORDER by them.',
  ),
  'stock count': moveStock('count', 'countStock', 'Set the stock of a part to the units counted.'),
  'stock adjust': moveStock(
    'adjust',
    'adjustStock',
    'Add units to the stock of a part, or remove them with a negative number. Requires --reason.',
    '--reason found',
  ),
  'stock history': action({
    about: `Show the last ${MOVEMENTS_PAGE} movements of a part, the newest first.`,
    takes: objectOf({ partCode }),
    run: async (context, { partCode: code }) => ({ movements: await loadMovements(context, code) }),
    command: 'stock history <team> <partCode>',
    show: ({ partCode: code, movements }) => [
      movements.length === 0
        ? `Part ${code} has no movements.`
        : [HEAD, ...movements.map((row) => COLUMNS.map((name) => row[name]))],
    ],
  }),
  'GET /stock/movements': action({
    about: 'Show the movements of a part, newest first, at most 100 at a time.',
    role: 'viewer',
    takes: objectOf({ PART_CODE }, { before: POSITION }),
    run: async (context, { PART_CODE: code, before }) => {
      const rows = await loadMovements(context, code, before);
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
      /** `next` is the `before` of the next page. */
      return { movements, next: last > 1 ? last : null };
    },
  }),
  'GET /stock/waiting': action({
    about: 'List the sales orders that wait for a part, the oldest first.',
    role: 'viewer',
    takes: objectOf({ PART_CODE }),
    run: async ({ openPims, signal }, { PART_CODE: code }) => {
      const waiting = await listWaiting(await openPims(), code, signal);
      return { orders: waiting.map(({ order, ...about }) => ({ ...(order as WaitingFields), ...about })) };
    },
  }),
  'GET /stock/serial': action({
    about: 'List the parts that have a unit with this serial number, and the invoice that sold it.',
    role: 'viewer',
    takes: objectOf({ serial: required() }),
    run: async ({ openPims, signal }, { serial }) => ({
      units: [...orThrow(await (await openPims()).look('serials', signal, serial))],
    }),
  }),
};
