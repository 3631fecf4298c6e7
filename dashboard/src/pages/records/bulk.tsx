/** Approves or invoices the selected orders one after the other, and shows the result for each. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { recordPath, write } from '../../records/records.ts';
import { toApiError, useLoad } from '../../api/use-load.ts';
import { Link } from '../../browser/router.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, openDialog } from '../../ui/dialog/dialog.tsx';
import { Notice, WhenLoaded } from '../../ui/page.tsx';
import { countOf } from '../../ui/text/text.tsx';
import type { BulkOrders } from './bulk-orders.tsx';

const ACTIONS = {
  Approve: (ORDER_NUMBER: string) => write('POST', '/orders/approve', { ORDER_NUMBER }),
  Invoice: (ORDER_NUMBER: string) => write('POST', '/orders/invoice', { ORDER_NUMBER }),
} as const;
type Action = keyof typeof ACTIONS;
const DOING = { Approve: 'Approving', Invoice: 'Invoicing' } as const;
type Result = readonly [number: string, fault: string | undefined];

interface BulkProps {
  selected: readonly string[];
  onDone: () => void;
}

/** Example: `<BulkActions selected={numbers} onDone={reload} />`. */
export function BulkActions({ selected, onDone }: BulkProps) {
  const [results, setResults] = useState<readonly Result[]>([]);
  const [progress, setProgress] = useState<string>();
  const isStopped = useRef(false);
  // If the user leaves the page, the run stops after the current order.
  useEffect(() => () => void (isStopped.current = true), []);
  const run = async (name: Action) => {
    isStopped.current = false;
    const done: Result[] = [];
    for (const number of selected) {
      if (isStopped.current) break;
      setProgress(`${DOING[name]} ${done.length + 1} of ${selected.length}`);
      // The orders are changed one after the other, so that they take stock in this order.
      const fault = await ACTIONS[name](number).then(
        () => undefined,
        (thrown: unknown) => toApiError(thrown).message,
      );
      done.push([number, fault]);
    }
    setProgress(undefined);
    setResults(done);
    onDone();
  };
  const confirm = (action: Action) => (
    <Confirm
      title={`${action} ${countOf(selected.length, 'order')}?`}
      action={action}
      tone="primary"
      onSubmit={() => void run(action)}
    >
      <p>
        {action === 'Approve'
          ? 'They become sales orders and reserve stock.'
          : 'This takes all open units from stock and locks quantities and prices.'}
      </p>
      <Summary numbers={selected} isShipped={action === 'Invoice'} />
    </Confirm>
  );
  const failed = results.filter(([, fault]) => fault !== undefined);
  return (
    <>
      {progress !== undefined && (
        <div class="bulk">
          <span role="status">{progress}</span>
          <Button size="small" onClick={() => (isStopped.current = true)}>
            Stop
          </Button>
        </div>
      )}
      {selected.length > 0 && progress === undefined && (
        <div class="bulk" role="group" aria-label="Selected orders">
          <span>{countOf(selected.length, 'order')} selected</span>
          {(Object.keys(ACTIONS) as Action[]).map((name) => (
            <Button key={name} size="small" onClick={() => openDialog(confirm(name))}>
              {name} selected
            </Button>
          ))}
        </div>
      )}
      {results.length > 0 && (
        <Notice
          tone={failed.length > 0 ? 'bad' : 'good'}
          title={`${results.length - failed.length} of ${countOf(results.length, 'order')} changed`}
        >
          <ul>
            {results.map(([number, fault]) => (
              <li key={number}>
                <Link to={recordPath('orders', number)}>{number}</Link>: {fault ?? 'done'}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

/** The orders, whose code a list fetches only for this dialog, so that it loads in less time. */
function Summary(orders: Parameters<typeof BulkOrders>[0]) {
  const code = useLoad('', () => import('./bulk-orders.tsx'));
  return (
    <WhenLoaded from={code} lines={3}>
      {({ BulkOrders: Orders }) => <Orders {...orders} />}
    </WhenLoaded>
  );
}
