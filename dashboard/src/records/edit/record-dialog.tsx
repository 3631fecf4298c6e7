/** A form with the fields of a record, from the tenant's dictionary. It sends only changed fields. Begin here. */
import { useRef, useState } from 'preact/hooks';
import type { FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { faultAt } from '../../api/client.ts';
import { useGet } from '../../api/use-load.ts';
import { toIsoDate } from '../../ui/text/text.tsx';
import { FormDialog } from '../../ui/dialog/dialog.tsx';
import { NumberField, Select, TextArea, TextField, type Option } from '../../ui/form/field.tsx';
import { takeNumber, writeNumber } from '../../ui/form/number.ts';
import { WhenLoaded } from '../../ui/page.tsx';
import { labelOf } from '../label.ts';
import { ADDRESS_FIELDS } from '../record-fields.tsx';
import { FindField, useKnownCodes } from './find-field.tsx';

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
}

/** Example: `<RecordDialog title="Edit part" recordType="inventory" values={part} onSave={save} />`. */
export function RecordDialog({ recordType, first = [], isShown = () => true, values, ...props }: RecordDialogProps) {
  const loaded = useGet('/fields');
  const [typed, setTyped] = useState<Values>({});
  const began = useRef(values);
  const { know, question } = useKnownCodes();
  const save = async () => {
    const taken = loaded.data?.fields[recordType].flatMap(({ name, type }) => {
      const text = typed[name];
      return text === undefined ? [] : [[name, type === 'number' ? takeNumber(text, name) : text] as const];
    });
    const changed: Values = Object.fromEntries((taken ?? []).filter(([name, value]) => value !== began.current[name]));
    if (Object.keys(changed).length === 0 && !began.current['CREATE_DATE'])
      throw faultAt('', 'The form is empty. Fill in a field.');
    const [name, kind] = CODES[recordType] ?? [];
    const code = name && changed[name]?.trim();
    if (code) changed[name] = (await know([[kind!, code, name]]))[0]?.[name] ?? code;
    await props.onSave(changed);
  };
  const rank = ({ name }: FieldView) => (first.includes(name) ? first.indexOf(name) : first.length);
  return (
    <FormDialog title={props.title} width="wide" action={props.action ?? 'Save'} onSubmit={save}>
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
                  value={typed[field.name] ?? writeValue(field, began.current[field.name] ?? '')}
                  onValue={(value, found = {}) =>
                    setTyped((before) => ({
                      ...addressOf(found, { ...began.current, ...before }),
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
      {question}
    </FormDialog>
  );
}

interface EntryProps {
  field: FieldView;
  value: string;
  /** `found` is the record that the value names. A customer has the addresses of an order. */
  onValue: (value: string, found?: Values) => void;
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

const FLAGS: readonly Option[] = [
  ['', 'Not set'],
  ['Y', 'Yes'],
  ['N', 'No'],
];

const writeValue = ({ type }: FieldView, value: string) =>
  type === 'number' ? writeNumber(value) : type === 'date' ? toIsoDate(value) : value;

/** The fields that find a record of another kind. */
const CODES: { readonly [Name in RecordType]?: readonly [field: string, kind: 'customers' | 'inventory'] } = {
  orders: ['CUSTOMER_CODE', 'customers'],
  lines: ['PART_CODE', 'inventory'],
};

function Entry({ field: { name, type }, value, onValue, recordType, autofocus }: EntryProps) {
  const given = { label: labelOf(name), name, value, onValue, autofocus };
  const [code, kind] = CODES[recordType] ?? [];
  if (kind && name === code) return <FindField {...given} kind={kind} />;
  if (type === 'flag') return <Select {...given} options={FLAGS} />;
  if (name === 'NOTES') return <TextArea {...given} rows={3} />;
  if (type === 'number') return <NumberField {...given} title={name} />;
  return <TextField {...given} isExact title={name} type={type === 'date' ? 'date' : 'text'} />;
}
