/** Edits or creates a customer or a part in a form. New orders have a page. */
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { KINDS, recordPath, useSave, write, writeBatch, type Kind, type LoadedRecord } from '../records.ts';
import { navigate } from '../../browser/router.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Dialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { toast } from '../../ui/toaster.tsx';
import { ReloadNotice, Skeleton } from '../../ui/page.tsx';
import type { RecordDialog } from './record-dialog.tsx';

const FIRST = {
  customers: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'NOTES'],
  inventory: ['PART_CODE', 'PART_DESCRIPTION', 'BARCODE', 'UNIT_PRICE', 'UNIT_COST', 'QTY_ONHAND', 'SERIALIZED'],
} as const;

interface EditProps {
  kind: keyof typeof FIRST;
  record: LoadedRecord;
  onDone: () => void;
}

/** Example: `<EditRecord kind="customers" record={record} onDone={reload} />`. */
export function EditRecord({ kind, record, onDone }: EditProps) {
  const saveCustomer = useSave('customers', record);
  const { key, noun } = KINDS[kind];
  const code = record.values[key] ?? '';
  const save = async (changed: Values) => {
    if (kind === 'inventory') await write('POST', '/inventory/update', { ...changed, [key]: code });
    else await saveCustomer('/customers/update', { ...changed, [key]: code });
    toast('Saved');
    onDone();
  };
  return (
    <RecordForm
      title={`Edit ${noun} ${code}`}
      recordType={kind}
      values={record.values}
      first={FIRST[kind]}
      isShown={({ name }) => name !== key && name !== 'QTY_ONHAND'}
      onSave={save}
    />
  );
}

/** The button of a list that creates a record of its kind. */
export function NewRecord({ kind }: { kind: Kind }) {
  if (kind === 'orders')
    return (
      <ButtonLink to="/records/orders/new" tone="primary" icon="plus">
        New order
      </ButtonLink>
    );
  const { noun } = KINDS[kind];
  const create = async (values: Values) => {
    const key = kind === 'inventory' ? createPart(values) : write<string>('PUT', '/customers/create', values);
    navigate(recordPath(kind, await key));
  };
  const form = (
    <RecordForm
      title={`New ${noun}`}
      recordType={kind}
      values={{}}
      first={FIRST[kind]}
      action="Create"
      onSave={create}
    />
  );
  return (
    <Button tone="primary" icon="plus" onClick={() => openDialog(form)}>
      New {noun}
    </Button>
  );
}

/** Creates a part, and counts its units on hand, if there are any, in the same transaction. */
async function createPart({ QTY_ONHAND = '', ...values }: Values): Promise<string> {
  // The first load leaves out decimals, which take 4 kB.
  if (Number(QTY_ONHAND) === 0) return write<string>('PUT', '/inventory/create', values);
  const { PART_CODE = '' } = values;
  await writeBatch([
    { operation: 'createPart', body: values },
    { operation: 'countStock', body: { PART_CODE, QUANTITY: QTY_ONHAND, REASON: 'new part' } },
  ]);
  return PART_CODE;
}

/** A RecordDialog, whose code a list fetches only for it, so that it loads in less time. */
function RecordForm(record: Parameters<typeof RecordDialog>[0]) {
  const { data, error } = useLoad('', () => import('./record-dialog.tsx'));
  if (data) return <data.RecordDialog {...record} />;
  return (
    <Dialog title={record.title} width="wide">
      {error ? <ReloadNotice title="This form could not be shown" /> : <Skeleton lines={6} />}
    </Dialog>
  );
}
