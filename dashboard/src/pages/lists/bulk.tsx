/** Approves or invoices the selected orders one after the other, and says how each ended. */
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { recordPath } from '../../api/records.ts';
import { toApiError } from '../../api/use-load.ts';
import { Link } from '../../router.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog/form-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { countOf } from '../../ui/text/text.tsx';

const ACTIONS = {
  Approve: (number: string) => post('/orders/approve', { ORDER_NUMBER: number }),
  Invoice: (number: string) =>
    post('/orders/invoice', { ORDER_NUMBER: number, quantities: {}, serials: {}, tracking: [] }),
} as const;
type Action = keyof typeof ACTIONS;

interface BulkProps {
  selected: readonly string[];
  onDone: () => void;
}

/** Example: `<BulkActions selected={numbers} onDone={reload} />`. */
export function BulkActions({ selected, onDone }: BulkProps) {
  const [action, setAction] = useState<Action>();
  const [failed, setFailed] = useState<readonly (readonly [number: string, reason: string])[]>([]);
  const run = async (name: Action) => {
    const faults: [string, string][] = [];
    for (const number of selected)
      // One order after the other, so that stock is taken in their order.
      await ACTIONS[name](number).catch((fault: unknown) => faults.push([number, toApiError(fault).message]));
    setFailed(faults);
    onDone();
  };
  return (
    <>
      {selected.length > 0 && (
        <div class="bulk" role="group" aria-label="Selected orders">
          <span>{countOf(selected.length, 'order')} selected</span>
          {(Object.keys(ACTIONS) as Action[]).map((name) => (
            <Button key={name} size="small" onClick={() => setAction(name)}>
              {name} selected
            </Button>
          ))}
        </div>
      )}
      {failed.length > 0 && (
        <Notice tone="bad" title={`${countOf(failed.length, 'order')} could not be changed`}>
          <ul>
            {failed.map(([number, reason]) => (
              <li key={number}>
                <Link to={recordPath('orders', number)}>{number}</Link>: {reason}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {action && (
        <Confirm
          title={`${action} ${countOf(selected.length, 'order')}?`}
          action={action}
          tone="primary"
          onConfirm={() => run(action)}
          onClose={() => setAction(undefined)}
        >
          {action === 'Approve'
            ? 'They become sales orders and reserve stock.'
            : 'All open units are taken from stock.'}
        </Confirm>
      )}
    </>
  );
}
