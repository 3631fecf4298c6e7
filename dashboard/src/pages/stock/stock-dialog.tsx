/** Receives, counts or adjusts a part, or sets what is on order. Says what the stock becomes before it is sent. */
import { addDecimals, parseDecimal, subtractDecimals } from '../../../../src/pims/rules/decimal.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { post } from '../../api/client.ts';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { TextArea, TextField, useEntry } from '../../ui/form/field.tsx';
import { toast } from '../../ui/toaster.tsx';

export const ACTIONS = {
  receive: { title: 'Receive', units: 'Units received', about: 'The units are added to the stock.' },
  count: { title: 'Count', units: 'Units counted', about: 'The stock is set to the units counted.' },
  adjust: { title: 'Adjust', units: 'Units to add, or to remove with a minus', about: 'Say why the stock differs.' },
  'on-order': { title: 'Set on order', units: 'Units on order', about: 'Units ordered from suppliers.' },
} as const;
export type Action = keyof typeof ACTIONS;

interface StockDialogProps {
  action: Action;
  part: Values;
  onDone: () => void;
  onClose: () => void;
}

export function StockDialog({ action, part, onDone, onClose }: StockDialogProps) {
  const quantity = useEntry('');
  const typed = useEntry('');
  const reason = useEntry('');
  const { PART_CODE = '', QTY_ONHAND = '', SERIALIZED } = part;
  const { title, units, about } = ACTIONS[action];
  const serials = splitList(typed.value.replaceAll('\n', ','));
  const after = stockAfter(action, QTY_ONHAND || '0', quantity.value);
  const send = async () => {
    if (action === 'on-order') await post('/stock/on-order', { PART_CODE, quantity: quantity.value });
    else {
      const body = { PART_CODE, quantity: quantity.value, reason: reason.value };
      const done = await (action === 'receive'
        ? post('/stock/receive', { ...body, serials })
        : post(`/stock/${action}`, body));
      toast(`${done.QTY_ONHAND} on hand`);
    }
    onDone();
    onClose();
  };
  return (
    <FormDialog title={`${title} ${PART_CODE}`} description={about} action={title} onSubmit={send} onClose={onClose}>
      <TextField
        label={units}
        name="quantity"
        inputmode="decimal"
        autofocus
        isExact
        {...quantity}
        hint={after === undefined ? undefined : `On hand: ${QTY_ONHAND || '0'} → ${after}`}
      />
      {action === 'receive' && (
        <TextArea
          label="Serial numbers"
          name="SERIAL_NUMBERS"
          rows={4}
          isMono
          isExact
          {...typed}
          hint={
            SERIALIZED === 'Y'
              ? `${serials.length} of ${quantity.value || '0'}. One per line; a scanner can type them.`
              : 'Optional, one per line.'
          }
        />
      )}
      {action !== 'on-order' && <TextField label="Reason" name="reason" {...reason} maxLength={500} />}
    </FormDialog>
  );
}

/** Returns the units on hand after the action, or undefined if it does not change them. */
function stockAfter(action: Action, onHand: string, quantity: string): string | undefined {
  const units = parseDecimal(quantity.trim());
  if (units === undefined || action === 'on-order') return undefined;
  return action === 'count' ? units : addDecimals(onHand, units);
}

/** The change of a movement with its sign: `+3`. */
export const signed = (quantity: string): string =>
  quantity.startsWith('-') ? quantity : `+${subtractDecimals(quantity, '0')}`;
