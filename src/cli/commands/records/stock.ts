/** `storeroom stock …`: receives, counts and adjusts parts, and shows their ledger. pims/rules/stock.ts has the rules. */
import type { Command } from 'commander';
import { byCommand, COMMAND_LINE } from '../../../audit/entry.ts';
import { actOnStock } from '../../../pims/operations.ts';
import { splitList } from '../../../pims/rules/lists.ts';
import type { StockAction } from '../../../pims/rules/stock.ts';
import { addCommand, addGroup, printAnswer, timeOf, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

const MOVEMENTS_SHOWN = 100;
const HEAD = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER', 'BY', 'REASON', 'SERIALS'];
const ACTIONS = [
  ['receive', 'received', 'Add units to the stock of a part.'],
  ['count', 'counted', 'Set the stock of a part to the units counted.'],
  ['adjust', 'adjusted', 'Add units to the stock of a part, or remove them with a minus. Needs --reason.'],
] as const;

export function addStockCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'stock', 'stock receive acme 42 10', 'Receive, count and adjust stock.');
  for (const [name, kind, description] of ACTIONS) {
    const example = `stock ${name} acme 42 ${name === 'adjust' ? '-1 --reason broken' : '10'}`;
    const command = addCommand(group, `${name} <team> <part> <quantity>`, example, description).option(
      '--reason <text>',
      'reason to record in the stock ledger',
      '',
    );
    if (kind === 'received')
      command.option('--serial <numbers>', 'serial numbers of the units, separated by commas', splitList, []);
    command.action((teamId: string, part: string, quantity: string, options: { reason: string; serial?: string[] }) =>
      act(context, teamId, part, { kind, quantity, reason: options.reason, serials: options.serial ?? [] }),
    );
  }
  const showing = `Show the last ${MOVEMENTS_SHOWN} movements of a part, the newest first.`;
  addCommand(group, 'history <team> <part>', 'stock history acme 42', showing).action(
    async (teamId: string, part: string) => {
      const movements = await withTenant(context, teamId, ({ pims }) =>
        pims.look('movements', part, Number.MAX_SAFE_INTEGER, MOVEMENTS_SHOWN),
      );
      const rows = movements.map(({ NUMBER, AT, KIND, QUANTITY, AFTER, ORDER_NUMBER, DONE_BY, REASON, SERIALS }) => [
        String(NUMBER),
        AT,
        KIND,
        QUANTITY,
        AFTER,
        ORDER_NUMBER,
        DONE_BY,
        REASON,
        SERIALS,
      ]);
      const text = rows.length === 0 ? `${part} has no movements.` : buildTable([HEAD, ...rows]);
      printAnswer(context, { teamID: teamId, partCode: part, movements }, text);
    },
  );
}

async function act(context: CommandContext, teamId: string, partCode: string, action: StockAction): Promise<void> {
  const { QTY_ONHAND } = await withTenant(context, teamId, async ({ pims, tenant, store }) => {
    const now = timeOf(context.clock);
    const done = await actOnStock(pims, partCode, action, { now, by: COMMAND_LINE, strict: tenant.strict });
    const { kind, quantity, reason } = action;
    const detail = { quantity, ...(reason !== '' && { reason }) };
    await store.audit.appendAudit(teamId, byCommand(now, `stock ${kind}`, partCode, detail));
    return done;
  });
  printAnswer(context, { teamID: teamId, partCode, QTY_ONHAND }, `${partCode} has ${QTY_ONHAND} on hand.`);
}
