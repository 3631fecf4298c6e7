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
import { FormDialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Select, TextField, useEntry } from '../../ui/form/field.tsx';
import { Empty, Page, Toolbar } from '../../ui/page.tsx';
import { column, Table, type TableColumn } from '../../ui/table/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toaster.tsx';

type NewField = BodyOf<'POST /fields'>;

const RECORD_TYPES: readonly (readonly [type: RecordType, label: string, noun: string])[] = [
  ['orders', 'Orders', 'orders'],
  ['lines', 'Lines', 'lines of orders'],
  ['customers', 'Customers', 'customers'],
  ['inventory', 'Inventory', 'inventory items'],
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
  column('Name', ({ name }) => <CopyText text={name} label={`Copy ${name}`} />, 'mono'),
  column('Type', ({ type }) => FORMATS[type]),
  column('Properties', (field) => <Marks field={field} />, 'wide'),
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
  const [shown, , noun] = RECORD_TYPES.find(([type]) => type === query.get('of')) ?? RECORD_TYPES[0]!;
  return (
    <Page
      title="Fields"
      description={DESCRIPTION}
      actions={
        may('developer') ? (
          <Button
            icon="plus"
            tone="primary"
            onClick={() => openDialog(<AddField recordType={shown} noun={noun} onAdded={reload} />)}
          >
            Add field
          </Button>
        ) : (
          <span class="muted small">You are a {user.role}. Developers and owners can add fields.</span>
        )
      }
    >
      <Tabs
        label="Record types"
        selected={shown}
        onSelect={(id) => setQuery({ of: id === 'orders' ? null : id }, { replace: true })}
        tabs={RECORD_TYPES.map(([type, label]) => ({
          id: type,
          label: data ? `${label} (${data.fields[type].length})` : label,
          content: () => <FieldTable key={type} from={dictionary} fields={data?.fields[type]} />,
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

interface AddFieldProps {
  recordType: RecordType;
  noun: string;
  onAdded: () => void;
}
function AddField({ recordType, noun, onAdded }: AddFieldProps) {
  const [name, setName] = useState('');
  const type = useEntry<NewField['type']>('text');
  const add = async () => {
    // The error names the new field of the record. In this form, it belongs to the field `name`.
    await rewordError(post('/fields', { recordType, name, type: type.value }), 'COMMAND_REFUSED', { field: 'name' });
    toast(`Field ${name} added`);
    onAdded();
  };
  return (
    <FormDialog
      title={`Add a field to ${noun}`}
      description="Fields cannot be renamed or deleted."
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
      <Select label="Type" name="type" {...type} options={TYPES.map((one) => [one, FORMATS[one]])} />
    </FormDialog>
  );
}
