/**
 * Approves and invoices an order, or says why it cannot. Loads the stock first, so that the page shows what changed.
 */
import { useState } from 'preact/hooks';
import type { AdvancedOrderView } from '../../../../src/http/dashboard/interface.ts';
import { addDecimals } from '../../../../src/pims/rules/decimal.ts';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { post } from '../../api/client.ts';
import { loadStock, type LoadedRecord, type Stock } from '../../api/records.ts';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog/confirm.tsx';
import { shorten } from '../../ui/text/text.tsx';
import { InvoiceDialog } from './invoice-dialog.tsx';
import { stockedParts } from './stock-table.tsx';

/** A step that was taken. */
export interface DoneTransition {
  readonly made: AdvancedOrderView;
  readonly parts: readonly string[];
  readonly stockBefore: ReadonlyMap<string, Stock>;
}

interface TransitionButtonsProps {
  record: LoadedRecord;
  onDone: (step: DoneTransition) => void;
}

/** Why an order cannot be carried further now; undefined when it can. */
export function useObstacle({ values, lines }: LoadedRecord): string | undefined {
  const { user, may } = useSession();
  if (values['ORDER_TYPE'] === 'invoice') return 'An invoice is the last stage: it no longer changes.';
  if (saysCancelled(values)) return 'ORDER_STATUS is CANCELLED: a cancelled order is neither approved nor invoiced.';
  if (!may('developer')) return `Approving and invoicing need the role developer; yours is ${user.role}.`;
  return lines.length === 0 ? 'There is nothing to invoice: the order has no lines.' : undefined;
}

export function TransitionButtons({ record, onDone }: TransitionButtonsProps) {
  const { values, lines } = record;
  const { may } = useSession();
  const [open, setOpen] = useState<'approve' | 'invoice'>();
  const obstacle = useObstacle(record);
  const close = () => setOpen(undefined);
  const take = async (send: () => Promise<AdvancedOrderView>) => {
    const parts = stockedParts(lines);
    const stockBefore = await loadStock(parts);
    onDone({ made: await send(), parts, stockBefore });
  };
  const approve = () =>
    take(() =>
      post('/orders/approve', {
        ORDER_NUMBER: values['ORDER_NUMBER'] ?? '',
      }),
    );
  if (saysCancelled(values)) return null;
  const isApprovable = values['ORDER_TYPE'] === 'worksheet' || values['ORDER_TYPE'] === 'quote';
  return (
    <>
      {isApprovable && (
        <Button disabled={!may('developer')} onClick={() => setOpen('approve')}>
          Approve
        </Button>
      )}
      {values['ORDER_TYPE'] !== 'invoice' && (
        <Button tone="primary" disabled={obstacle !== undefined} onClick={() => setOpen('invoice')}>
          Invoice
        </Button>
      )}
      {open === 'approve' && (
        <Confirm
          title={`Approve order ${values['ORDER_NUMBER']}?`}
          action="Approve"
          tone="primary"
          onConfirm={approve}
          onClose={close}
        >
          <Commitment record={record} />
        </Confirm>
      )}
      {open === 'invoice' && <InvoiceDialog order={values} lines={lines} onInvoice={take} onClose={close} />}
    </>
  );
}

function Commitment({ record: { values, lines } }: { record: LoadedRecord }) {
  const goods = values['DROP_SHIP'] === 'Y' ? [] : stockedParts(lines);
  const unitsOf = (part: string) =>
    lines
      .filter((line) => isGoods(line, part))
      .reduce((total, line) => addDecimals(total, line['QUANTITY'] ?? ''), '0');
  return (
    <>
      <p>It becomes a sales order and cannot go back.</p>
      {goods.length === 0 ? (
        <p>It commits no stock: {values['DROP_SHIP'] === 'Y' ? 'it is drop-shipped.' : 'it has no goods.'}</p>
      ) : (
        <>
          <p>It commits from the stock:</p>
          <ul class="commitment">
            {goods.map((part) => (
              <li key={part}>
                <strong>{unitsOf(part)}</strong> <bdi>{shorten(part, 80)}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const isGoods = (line: Values, part: string): boolean => line['PART_CODE'] === part && line['CARE_PLAN'] !== 'Y';
