/**
 * The field dictionary of the team, by record type. Developers add custom fields.
 */
import { useState } from 'preact/hooks';
import type { BodyOf, FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import { post, rewordError } from '../../api/client.ts';
import { useGet, type Loaded } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButton, FormDialog } from '../../ui/dialog/dialog.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Select, TextField, useEntry } from '../../ui/form/field.tsx';
import { Empty, Page, Toolbar } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toaster.tsx';

type NewField = BodyOf<'POST /fields'>;

const RECORD_TYPES: readonly { value: RecordType; label: string; noun: string }[] = [
  { value: 'orders', label: 'Orders', noun: 'orders' },
  { value: 'lines', label: 'Lines', noun: 'lines of orders' },
  { value: 'customers', label: 'Customers', noun: 'customers' },
  { value: 'inventory', label: 'Inventory', noun: 'inventory items' },
];
const DESCRIPTION =
  'Read-only fields are set by Storeroom. “is exactly” is fast on indexed fields, “contains” on searched fields.';
const FORMATS: Readonly<Record<FieldView['type'], string>> = {
  text: 'text',
  number: 'number, such as 1.5',
  date: 'date, such as 03/04/2026',
  flag: 'flag, Y or N',
  timestamp: 'timestamp, such as 2026-11-20T09:30:00.000Z',
};
const TYPES: readonly NewField['type'][] = ['text', 'number', 'date', 'flag'];

const COLUMNS: readonly TableColumn<FieldView>[] = [
  {
    key: 'name',
    head: 'Name',
    isMono: true,
    cell: ({ name }) => <CopyText text={name} label={`Copy ${name}`} />,
  },
  { key: 'type', head: 'Type', cell: ({ type }) => FORMATS[type] },
  { key: 'marks', head: 'Properties', isWide: true, cell: (field) => <Marks field={field} /> },
];

const Marks = ({ field }: { field: FieldView }) => (
  <span class="marks">
    {field.custom && <Badge tone="info">custom</Badge>}
    {field.assigned && <Badge>read-only</Badge>}
    {field.indexed && <Badge tone="good">indexed</Badge>}
    {field.searched && <Badge tone="good">searched</Badge>}
  </span>
);

export default function FieldsPage() {
  const { user, may } = useSession();
  const [query, setQuery] = useQuery();
  const dictionary = useGet('/fields');
  const { data, reload } = dictionary;
  const shown = RECORD_TYPES.find(({ value }) => value === query.get('of'))?.value ?? 'orders';
  return (
    <Page
      title="Fields"
      description={DESCRIPTION}
      actions={
        may('developer') ? (
          <DialogButton
            icon="plus"
            tone="primary"
            dialog={(close) => <AddField recordType={shown} onClose={close} onAdded={reload} />}
          >
            Add field
          </DialogButton>
        ) : (
          <span class="muted small">You are a {user.role}. Developers and owners can add fields.</span>
        )
      }
    >
      <Tabs
        label="Record types"
        selected={shown}
        onSelect={(id) => setQuery({ of: id === 'orders' ? null : id }, { replace: true })}
        tabs={RECORD_TYPES.map(({ value, label }) => ({
          id: value,
          label: data ? `${label} (${data.fields[value].length})` : label,
          content: () => <FieldTable key={value} from={dictionary} fields={data?.fields[value]} />,
        }))}
      />
    </Page>
  );
}

interface FieldTableProps {
  from: Loaded<unknown>;
  fields: readonly FieldView[] | undefined;
}
function FieldTable({ from, fields }: FieldTableProps) {
  const [query, setQuery] = useQuery();
  const filter = query.get('filter') ?? '';
  const onFilter = (text: string) => setQuery({ filter: text }, { replace: true });
  const wanted = filter.trim().toUpperCase();
  const matches = ({ name, type, custom }: FieldView) =>
    name.includes(wanted) || type.toUpperCase() === wanted || (custom && wanted === 'CUSTOM');
  const rows = fields?.filter(matches);
  return (
    <>
      <Toolbar label="Filter">
        <TextField
          label="Filter by name or type"
          name="filter"
          type="search"
          isLabelHidden
          placeholder="Filter by name or type"
          value={filter}
          onValue={onFilter}
        />
        {wanted !== '' && rows !== undefined && (
          <p class="muted small toolbar-note" aria-live="polite">
            {rows.length} of {fields?.length}
          </p>
        )}
      </Toolbar>
      <Table
        label="Fields"
        columns={COLUMNS}
        rows={rows}
        from={from}
        rowKey="name"
        empty={
          <Empty title="No field matches" action={<Button onClick={() => onFilter('')}>Clear filter</Button>}>
            Other record types are on the other tabs.
          </Empty>
        }
      />
    </>
  );
}

function AddField({
  recordType,
  onClose,
  onAdded,
}: {
  recordType: RecordType;
  onClose: () => void;
  onAdded: () => void;
}) {
  const [name, setName] = useState('');
  const type = useEntry<NewField['type']>('text');
  const noun = RECORD_TYPES.find(({ value }) => value === recordType)?.noun ?? '';
  const add = async () => {
    // The error names the new field of the record. In this form, it belongs to the field `name`.
    await rewordError(post('/fields', { recordType, name, type: type.value }), 'COMMAND_REFUSED', { field: 'name' });
    toast(`Field ${name} added`);
    onAdded();
    onClose();
  };
  return (
    <FormDialog
      title={`Add a field to ${noun}`}
      description="Fields cannot be renamed or deleted."
      onClose={onClose}
      action="Add field"
      onSubmit={add}
    >
      <TextField
        label="Name"
        name="name"
        isMono
        required
        autofocus
        autocapitalize="characters"
        maxLength={63}
        pattern="[A-Z][A-Z0-9_]*"
        title="Uppercase letters, digits and _, starting with a letter"
        isExact
        value={name}
        onValue={(text) => setName(text.toUpperCase())}
        hint="Use up to 63 uppercase letters, digits and _, starting with a letter, such as GIFT_NOTE."
      />
      <Select label="Type" name="type" {...type} options={TYPES.map((value) => ({ value, label: FORMATS[value] }))} />
    </FormDialog>
  );
}
