/** `storeroom stock …`: receives, counts and adjusts parts, and shows their ledger. pims/rules/stock.ts has the rules. */
import { byCommand, COMMAND_LINE } from '../../../audit/entry.ts';
import { actOnStock } from '../../../pims/operations.ts';
import { splitList } from '../../../pims/rules/lists.ts';
import type { StockAction } from '../../../pims/rules/stock.ts';
import { addGroup, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand, type TenantAnswer, type TenantData } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

const MOVEMENTS_SHOWN = 100;
const HEAD = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER', 'BY', 'REASON', 'SERIALS'];
const COLUMNS = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER_NUMBER', 'DONE_BY', 'REASON', 'SERIALS'] as const;
type ActionOptions = { reason: string; serial?: string[] };
const ACTIONS = [
  ['receive', 'received', 'Add units to the stock of a part.'],
  ['count', 'counted', 'Set the stock of a part to the units counted.'],
  ['adjust', 'adjusted', 'Add units to the stock of a part, or remove them with a minus. Needs --reason.'],
] as const;

export const addStockCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'stock', 'stock receive acme 42 10', 'Receive, count and adjust stock.');
  for (const [name, kind, description] of ACTIONS) {
    const example = `stock ${name} acme 42 ${name === 'adjust' ? '-1 --reason broken' : '10'}`;
    const command = addTenantCommand(
      group,
      context,
      `${name} <team> <part> <quantity>`,
      example,
      description,
      (data, part: string, quantity: string, { reason, serial: serials = [] }: ActionOptions) =>
        act(data, timeOf(context.clock), part, { kind, quantity, reason, serials }),
    ).option('--reason <text>', 'reason to record in the stock ledger', '');
    if (kind === 'received')
      command.option('--serial <numbers>', 'serial numbers of the units, separated by commas', splitList, []);
  }
  const showing = `Show the last ${MOVEMENTS_SHOWN} movements of a part, the newest first.`;
  addTenantCommand(
    group,
    context,
    'history <team> <part>',
    'stock history acme 42',
    showing,
    async ({ pims }, partCode: string) => {
      const movements = await pims.look('movements', partCode, Number.MAX_SAFE_INTEGER, MOVEMENTS_SHOWN);
      const rows = movements.map((movement) => COLUMNS.map((name) => movement[name]));
      const text = rows.length === 0 ? `${partCode} has no movements.` : buildTable([HEAD, ...rows]);
      return [{ partCode, movements }, text];
    },
  );
};

async function act(
  { pims, tenant, store, teamId }: TenantData,
  now: string,
  partCode: string,
  action: StockAction,
): Promise<TenantAnswer> {
  const { QTY_ONHAND } = await actOnStock(pims, partCode, action, { now, by: COMMAND_LINE, strict: tenant.strict });
  const { kind, quantity, reason } = action;
  const detail = { quantity, ...(reason !== '' && { reason }) };
  await store.audit.appendAudit(teamId, byCommand(now, `stock ${kind}`, partCode, detail));
  return [{ partCode, QTY_ONHAND }, `${partCode} has ${QTY_ONHAND} on hand.`];
}
