/**
 * Approves and invoices an order, or explains why that is not possible. Loads the stock first, so that the page can
 * show how it changes.
 */
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import {
  loadRecord,
  loadStock,
  write,
  type AdvancedOrder,
  type LoadedRecord,
  type Stock,
} from '../../records/records.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, openDialog } from '../../ui/dialog/dialog.tsx';
import { shorten } from '../../ui/text/text.tsx';
import { InvoiceDialog } from './invoice-dialog.tsx';
import { stockedParts, unitsOf } from '../../records/lines/stock-table.tsx';

export interface DoneTransition {
  readonly made: AdvancedOrder;
  readonly parts: readonly string[];
  readonly stockBefore: ReadonlyMap<string, Stock>;
  /** The tag of the order after the transition, or undefined if it is unknown. */
  readonly tag: string | undefined;
}

interface TransitionButtonsProps {
  record: LoadedRecord;
  onDone: (step: DoneTransition) => void;
}

/** Returns the reason why an order cannot be invoiced now, or undefined if it can. */
export function useObstacle({ values, lines }: LoadedRecord): string | undefined {
  const { user, may } = useSession();
  if (saysCancelled(values) && values.ORDER_TYPE === 'invoice')
    return 'This invoice is void. Only its notes can be changed.';
  if (values.ORDER_TYPE === 'invoice')
    return 'Invoiced. Quantities and prices are locked; notes, status, carrier and tracking numbers can still be changed.';
  if (saysCancelled(values)) return 'Cancelled. It can no longer be approved or invoiced.';
  if (!may('clerk')) return `You are a ${user.role}. To approve or invoice, ask an owner for the clerk role.`;
  return lines.length === 0 ? 'The order has no lines to invoice.' : undefined;
}

export function TransitionButtons({ record, onDone }: TransitionButtonsProps) {
  const { values, lines } = record;
  const { may } = useSession();
  const obstacle = useObstacle(record);
  const take = async (send: () => Promise<AdvancedOrder>) => {
    const parts = stockedParts(lines);
    const stockBefore = await loadStock(parts);
    const made = await send();
    const { tag } = (await loadRecord('orders', made.ORDER_NUMBER).catch(() => undefined)) ?? {};
    onDone({ made, parts, stockBefore, tag });
  };
  const approve = () => take(() => write('POST', '/orders/approve', { ORDER_NUMBER: values.ORDER_NUMBER ?? '' }));
  if (saysCancelled(values)) return null;
  const isApprovable = values.ORDER_TYPE === 'worksheet' || values.ORDER_TYPE === 'quote';
  const approval = (
    <Confirm title={`Approve order ${values.ORDER_NUMBER}?`} action="Approve" tone="primary" onSubmit={approve}>
      <Commitment record={record} />
    </Confirm>
  );
  return (
    <>
      {isApprovable && (
        <Button tone="primary" disabled={!may('clerk')} onClick={() => openDialog(approval)}>
          Approve
        </Button>
      )}
      {values.ORDER_TYPE !== 'invoice' && (
        <Button
          tone={isApprovable ? 'secondary' : 'primary'}
          disabled={obstacle !== undefined}
          onClick={() => openDialog(<InvoiceDialog order={values} lines={lines} onInvoice={take} />)}
        >
          Invoice
        </Button>
      )}
    </>
  );
}

function Commitment({ record: { values, lines } }: { record: LoadedRecord }) {
  const goods = values.DROP_SHIP === 'Y' ? [] : stockedParts(lines);
  return (
    <>
      <p>The order becomes a sales order. This cannot be undone.</p>
      {goods.length === 0 ? (
        <p>
          No stock is reserved: the order{' '}
          {values.DROP_SHIP === 'Y' ? 'is drop-shipped.' : 'has no parts that are kept in stock.'}
        </p>
      ) : (
        <>
          <p>These units are reserved:</p>
          <ul class="commitment">
            {goods.map((part) => (
              <li key={part}>
                <strong>{unitsOf(part, lines)}</strong> <bdi>{shorten(part, 80)}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
