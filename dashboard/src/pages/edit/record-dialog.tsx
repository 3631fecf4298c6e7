/** A form with the fields of a record, from the tenant's dictionary. It sends only changed fields. Begin here. */
import { useRef, useState } from 'preact/hooks';
import type { FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import { FIRST_STAGES } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useGet } from '../../api/use-load.ts';
import { labelStage } from '../../ui/text/text.tsx';
import { FormDialog } from '../../ui/dialog/dialog.tsx';
import { Select, TextArea, TextField } from '../../ui/form/field.tsx';
import { WhenLoaded } from '../../ui/page.tsx';
import { labelOf } from '../../ui/text/label.ts';
import { ADDRESS_FIELDS } from '../records/record-fields.tsx';
import { FindField } from './find-field.tsx';

interface RecordDialogProps {
  title: string;
  recordType: RecordType;
  /** The record that is edited; {} for a new one. */
  values: Values;
  /** The fields to show first, in this order. The other fields follow in the order of the dictionary. */
  first?: readonly string[];
  /** Returns whether to show a field. Fields that PIMS assigns are never shown. */
  isShown?: (field: FieldView) => boolean;
  action?: string;
  onSave: (changed: Values) => Promise<unknown>;
  onClose: () => void;
}

/** Example: `<RecordDialog title="Edit part" recordType="inventory" values={part} onSave={save} onClose={close} />`. */
export function RecordDialog({ recordType, first = [], isShown = () => true, values, ...props }: RecordDialogProps) {
  const loaded = useGet('/fields');
  const [typed, setTyped] = useState<Values>({});
  const began = useRef(values);
  const changed = Object.fromEntries(Object.entries(typed).filter(([name, value]) => value !== began.current[name]));
  const save = async () => {
    await props.onSave(changed);
    props.onClose();
  };
  const rank = ({ name }: FieldView) => (first.includes(name) ? first.indexOf(name) : first.length);
  return (
    <FormDialog
      title={props.title}
      width="wide"
      action={props.action ?? 'Save'}
      onSubmit={save}
      onClose={props.onClose}
    >
      <WhenLoaded from={loaded}>
        {({ fields }) => (
          <div class="fields">
            {fields[recordType]
              .filter((field) => !field.assigned && isShown(field))
              .toSorted((a, b) => rank(a) - rank(b))
              .map((field, at) => (
                <Entry
                  key={field.name}
                  field={field}
                  value={typed[field.name] ?? began.current[field.name] ?? ''}
                  onValue={(value, customer = {}) =>
                    setTyped((before) => ({
                      ...addressOf(customer, { ...began.current, ...before }),
                      ...before,
                      [field.name]: value,
                    }))
                  }
                  recordType={recordType}
                  autofocus={at === 0}
                />
              ))}
          </div>
        )}
      </WhenLoaded>
    </FormDialog>
  );
}

interface EntryProps {
  field: FieldView;
  value: string;
  /** `customer` is the customer that the value names, if the field finds customers. */
  onValue: (value: string, customer?: Values) => void;
  recordType: RecordType;
  autofocus: boolean;
}

/** Returns the addresses and terms of a customer that an order does not have yet. */
const addressOf = (customer: Values, order: Values): Values =>
  Object.fromEntries(
    [...ADDRESS_FIELDS, 'TERMS_CODE'].flatMap((name) =>
      customer[name] && !order[name] ? [[name, customer[name]]] : [],
    ),
  );

const STAGE_CHOICES = [{ value: '', label: 'As in Settings' }].concat(
  FIRST_STAGES.map((stage) => ({ value: stage, label: labelStage(stage) })),
);
const FLAGS = [
  { value: '', label: 'Not set' },
  { value: 'Y', label: 'Yes' },
  { value: 'N', label: 'No' },
];

function Entry({ field: { name, type }, value, onValue, recordType, autofocus }: EntryProps) {
  const given = { label: labelOf(name), name, value, onValue, autofocus };
  if (recordType === 'orders' && name === 'CUSTOMER_CODE') return <FindField {...given} kind="customers" />;
  if (recordType === 'lines' && name === 'PART_CODE')
    return <FindField {...given} kind="inventory" onValue={(code) => onValue(code)} />;
  if (name === 'ORDER_TYPE') return <Select {...given} options={STAGE_CHOICES} />;
  if (type === 'flag') return <Select {...given} options={FLAGS} />;
  if (name === 'NOTES') return <TextArea {...given} rows={3} />;
  if (type === 'number') return <TextField {...given} inputmode="decimal" isExact title={name} />;
  return <TextField {...given} isExact title={name} placeholder={type === 'date' ? 'mm/dd/yyyy' : ''} />;
}
