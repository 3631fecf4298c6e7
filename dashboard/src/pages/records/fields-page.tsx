/**
 * The field dictionary of the team, by record type. Developers add custom fields.
 */
import { useState } from 'preact/hooks';
import type { BodyOf, FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import { ApiError, get, post } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { useQuery } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { Select, TextField } from '../../ui/form/field.tsx';
import { Empty, LoadError } from '../../ui/notice.tsx';
import { Page, Toolbar } from '../../ui/page.tsx';
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
  'Names are upper case. Set by PIMS, the inventory management system behind the API: never sent. ' +
  'Indexed: exact filters are quick. Searched: substring filters are quick.';
const EXAMPLES: Readonly<Record<FieldView['type'], string>> = {
  text: 'Blue mug',
  number: '1.5',
  date: '03/04/2026',
  flag: 'Y',
  timestamp: '2026-11-20T09:30:00.000Z',
};
const TYPES: readonly NewField['type'][] = ['text', 'number', 'date', 'flag'];

const COLUMNS: readonly TableColumn<FieldView>[] = [
  {
    key: 'name',
    head: 'Name',
    isMono: true,
    cell: ({ name }) => (
      <span class="copy-text">
        <code>{name}</code>
        <Copy text={name} label={`Copy ${name}`} />
      </span>
    ),
  },
  { key: 'type', head: 'Type', cell: ({ type }) => type },
  { key: 'example', head: 'Example', isMono: true, cell: ({ type }) => <span class="muted">{EXAMPLES[type]}</span> },
  { key: 'marks', head: 'Marks', isWide: true, cell: (field) => <Marks field={field} /> },
];

const Marks = ({ field }: { field: FieldView }) => (
  <span class="marks">
    {field.custom && <Badge tone="info">custom</Badge>}
    {field.assigned && <Badge>set by PIMS</Badge>}
    {field.indexed && <Badge tone="good">indexed</Badge>}
    {field.searched && <Badge tone="good">searched</Badge>}
  </span>
);

export function FieldsPage() {
  const { user, may } = useSession();
  const [query, setQuery] = useQuery();
  const [isAdding, setAdding] = useState(false);
  const { data, error, reload } = useLoad('fields', (signal) => get('/fields', {}, signal));
  const shown = RECORD_TYPES.find(({ value }) => value === query.get('of'))?.value ?? 'orders';
  const filter = query.get('filter') ?? '';
  return (
    <Page
      title="Fields"
      description={DESCRIPTION}
      actions={
        may('developer') ? (
          <Button icon="plus" tone="primary" onClick={() => setAdding(true)}>
            Add field
          </Button>
        ) : (
          <span class="muted small">Developers and owners add fields; you are a {user.role}.</span>
        )
      }
    >
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {(data !== undefined || error === undefined) && (
        <Tabs
          label="Record types"
          selected={shown}
          onSelect={(id) => setQuery({ of: id === 'orders' ? null : id }, { replace: true })}
          tabs={RECORD_TYPES.map(({ value, label }) => ({
            id: value,
            label: data === undefined ? label : `${label} (${data.fields[value].length})`,
            content: () => (
              <FieldTable
                key={value}
                fields={data?.fields[value]}
                filter={filter}
                onFilter={(text) => setQuery({ filter: text }, { replace: true })}
              />
            ),
          }))}
        />
      )}
      {isAdding && <AddField recordType={shown} onClose={() => setAdding(false)} onAdded={reload} />}
    </Page>
  );
}

interface FieldTableProps {
  fields: readonly FieldView[] | undefined;
  filter: string;
  onFilter: (text: string) => void;
}
function FieldTable({ fields, filter, onFilter }: FieldTableProps) {
  const wanted = filter.trim().toUpperCase();
  const matches = ({ name, type, custom }: FieldView): boolean =>
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
        rowKey={({ name }) => name}
        empty={
          <Empty title="No field matches" action={<Button onClick={() => onFilter('')}>Clear filter</Button>}>
            Fields of other record types are behind the other tabs.
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
  const [type, setType] = useState<NewField['type']>('text');
  const noun = RECORD_TYPES.find(({ value }) => value === recordType)?.noun ?? '';
  const add = async () => {
    try {
      await post('/fields', { recordType, name, type });
    } catch (fault) {
      // The refusal names the field of the record; here that is what was typed as its name.
      if (fault instanceof ApiError && fault.code === 'COMMAND_REFUSED')
        throw new ApiError(fault.code, fault.message, fault.httpStatus, { field: 'name', requestId: fault.requestId });
      throw fault;
    }
    toast(`Field ${name} added`);
    onAdded();
    onClose();
  };
  return (
    <FormDialog
      title={`Add a field to ${noun}`}
      description="A field cannot be taken away or changed again, nor can its name be given to another."
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
        title="Upper case letters, digits and _, beginning with a letter"
        isExact
        value={name}
        onValue={(text) => setName(text.toUpperCase())}
        hint="Upper case letters, digits and _, beginning with a letter, such as GIFT_NOTE. At most 63 characters."
      />
      <Select
        label="Type"
        name="type"
        value={type}
        onValue={setType}
        options={TYPES.map((value) => ({ value, label: `${value}, such as ${EXAMPLES[value]}` }))}
      />
    </FormDialog>
  );
}
