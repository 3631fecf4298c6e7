/** The actions on an order besides approving and invoicing: edit, add and change lines, cancel, void, return, print. */
import type { FieldView } from '../../../../src/http/dashboard/interface.ts';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { recordPath, useCurrent, useSave, write, type LoadedRecord } from '../../records/records.ts';
import { useSession } from '../../api/session.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Confirm, FormDialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { TextField, useEntry } from '../../ui/form/field.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { toast } from '../../ui/toaster.tsx';
import { RecordDialog } from '../../records/edit/record-dialog.tsx';
import { ReturnDialog } from './returns.tsx';

interface ActionsProps {
  record: LoadedRecord;
  onDone: () => void;
}

const HEADER = [
  'CUSTOMER_CODE',
  'REFERENCE_NUMBER',
  'PO_NUMBER',
  'ORDER_DATE',
  'SHIP_VIA',
  'TRACKING_NUMBERS',
  'NOTES',
];
const LINE = ['PART_CODE', 'QUANTITY', 'UNIT_PRICE', 'DISCOUNT', 'DESCRIPTION', 'SERIAL_NUMBERS'];
/** The fields that can be changed on an invoice (S7.14). */
const OPEN_ON_INVOICE = ['NOTES', 'ORDER_STATUS', 'TRACKING_NUMBERS', 'SHIP_VIA'];
const OPEN_ON_INVOICED_LINE = ['DESCRIPTION', 'SERIAL_NUMBERS'];
const OPEN_ON_RETURNED_LINE = ['DESCRIPTION'];

/** Returns which fields can be changed in an order, or in its lines. */
function openFields(order: Values, openOnInvoice: readonly string[], never: readonly string[]) {
  if (saysCancelled(order)) return ({ name }: FieldView) => name === 'NOTES';
  if (order.ORDER_TYPE === 'invoice') return ({ name, custom }: FieldView) => custom || openOnInvoice.includes(name);
  return ({ name }: FieldView) => !never.includes(name);
}

/** Example: `<OrderActions record={record} onDone={reload} />`. */
export function OrderActions(order: ActionsProps) {
  const { may } = useSession();
  const { values } = order.record;
  const number = values.ORDER_NUMBER ?? '';
  const isCancelled = saysCancelled(values);
  const isInvoice = values.ORDER_TYPE === 'invoice';
  return (
    <>
      <ButtonLink to={`${recordPath('orders', number)}/print`}>Print</ButtonLink>
      {may('clerk') && (
        <>
          <Button onClick={() => openDialog(<EditOrder {...order} />)}>Edit</Button>
          {!isCancelled && !isInvoice && (
            <>
              <Button onClick={() => openDialog(<LineDialog {...order} />)}>Add line</Button>
              <Button onClick={() => openDialog(<CancelOrder {...order} />)}>Cancel order</Button>
            </>
          )}
          {!isCancelled && isInvoice && <Button onClick={() => openDialog(<VoidInvoice {...order} />)}>Void</Button>}
          {!isCancelled && isInvoice && !values.RETURN_OF && (
            <Button onClick={() => openDialog(<ReturnDialog record={order.record} />)}>Return</Button>
          )}
        </>
      )}
    </>
  );
}

function EditOrder({ record, onDone }: ActionsProps) {
  const saveOrder = useSave('orders', record);
  const number = record.values.ORDER_NUMBER ?? '';
  const save = async (changed: Values) => {
    await saveOrder('/orders/update', { ...changed, ORDER_NUMBER: number });
    toast('Saved');
    onDone();
  };
  return (
    <RecordDialog
      title={`Edit order ${number}`}
      recordType="orders"
      values={record.values}
      first={HEADER}
      isShown={openFields(record.values, OPEN_ON_INVOICE, ['ORDER_NUMBER', 'ORDER_TYPE'])}
      onSave={save}
    />
  );
}

/** Adds a line to an order, or changes `line`. */
export function LineDialog({ record, line, onDone }: ActionsProps & { line?: Values }) {
  const saveOrder = useSave('orders', record);
  const number = record.values.ORDER_NUMBER ?? '';
  const save = async (changed: Values) => {
    const lockCode = line && { LINE_REF_LOCK_CODE: line.LINE_REF_LOCK_CODE };
    const body = { ...changed, ...lockCode, ORDER_NUMBER: number };
    if (line) await saveOrder('/orders/line_item', body);
    else await write('PUT', '/orders/line_item', body);
    toast('Saved');
    onDone();
  };
  return (
    <RecordDialog
      title={line ? `Edit line ${line.LINE_NUMBER}` : 'Add a line'}
      recordType="lines"
      values={line ?? { QUANTITY: '1' }}
      first={LINE}
      isShown={openFields(record.values, record.values.RETURN_OF ? OPEN_ON_RETURNED_LINE : OPEN_ON_INVOICED_LINE, [
        'ORDER_NUMBER',
        'NUMBER_SHIPPED',
      ])}
      action={line ? 'Save' : 'Add'}
      onSave={save}
    />
  );
}

function CancelOrder({ record, onDone }: ActionsProps) {
  const { values, tag } = useCurrent('orders', record);
  const number = values.ORDER_NUMBER ?? '';
  const cancel = async () => {
    await write('POST', '/orders/cancel', { ORDER_NUMBER: number }, { 'if-match': tag });
    toast('Cancelled');
    onDone();
  };
  return (
    <Confirm title={`Cancel order ${number}?`} action="Cancel order" onSubmit={cancel}>
      Its reserved stock is released. Then only its notes can be changed.
    </Confirm>
  );
}

function VoidInvoice({ record, onDone }: ActionsProps) {
  const { values, tag } = useCurrent('orders', record);
  const reason = useEntry('');
  const number = values.ORDER_NUMBER ?? '';
  const send = async () => {
    await write('POST', '/orders/void', { ORDER_NUMBER: number, REASON: reason.value }, { 'if-match': tag });
    toast('Voided');
    onDone();
    focusHeading();
  };
  return (
    <FormDialog
      title={`Void invoice ${number}?`}
      description={`Its units and serial numbers ${values.RETURN_OF ? `are those of invoice ${values.RETURN_OF} again` : 'return to stock'}. The record stays, marked as void.`}
      action="Void"
      tone="danger"
      onSubmit={send}
    >
      <TextField label="Reason" name="REASON" autofocus maxLength={500} {...reason} />
    </FormDialog>
  );
}
