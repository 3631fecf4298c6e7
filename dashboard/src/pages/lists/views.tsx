/** The views of a list: filters with a name and their count, and those that a user has saved on this device. */
import { useState } from 'preact/hooks';
import { formatFilter, type RecordFilter } from '../../api/filters.ts';
import { countRecords, type Kind } from '../../api/records.ts';
import { useLoad } from '../../api/use-load.ts';
import { loadChoice, saveChoice } from '../../device.ts';
import { Link, useQuery } from '../../router.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { TextField } from '../../ui/form/field.tsx';

const where = (field: string, op: RecordFilter['op'], value: string): RecordFilter => ({
  conjunction: 'AND',
  field,
  op,
  value,
});
const ofStage = (stage: string, closed = 'CANCELLED') => [
  where('ORDER_TYPE', 'eq', stage),
  where('ORDER_STATUS', 'ne', closed),
];

const VIEWS: Readonly<Record<Kind, readonly (readonly [label: string, filters: readonly RecordFilter[]])[]>> = {
  orders: [
    ['All', []],
    ['Open', ofStage('sales_order')],
    ['Quotes', ofStage('quote')],
    ['Drafts', ofStage('worksheet')],
    ['Invoiced', ofStage('invoice', 'VOID')],
    ['Cancelled', [where('ORDER_STATUS', 'in', 'CANCELLED,VOID')]],
  ],
  customers: [],
  inventory: [
    ['All', []],
    ['Short', [where('QTY_AVAILABLE', 'lt', '0')]],
    ['On order', [where('QTY_ONORDER', 'gt', '0')]],
  ],
};
const SAVED_MOST = 20;

const searchOf = (filters: readonly RecordFilter[]): string =>
  new URLSearchParams(filters.map((filter) => ['filter', formatFilter(filter)])).toString();
const filtersIn = (search: string): string => new URLSearchParams(search).getAll('filter').join('\n');

type Saved = readonly (readonly [name: string, search: string])[];
const storageKey = (kind: Kind): string => `storeroom.views.${kind}`;
function loadSaved(kind: Kind): Saved {
  try {
    return JSON.parse(loadChoice(storageKey(kind)) ?? '[]') as Saved;
  } catch {
    return [];
  }
}

/** Example: `<Views kind="orders" />`; the address keeps the view. */
export function Views({ kind }: { kind: Kind }) {
  const [query] = useQuery();
  const [saved, setSaved] = useState(() => loadSaved(kind));
  const [isSaving, setSaving] = useState(false);
  const views = VIEWS[kind];
  const counts = useLoad(kind, async (signal) => {
    const found = await Promise.allSettled(views.map(([, filters]) => countRecords(kind, filters, signal)));
    return found.map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  });
  const keep = (next: Saved) => {
    setSaved(next);
    saveChoice(storageKey(kind), JSON.stringify(next));
  };
  const own = ['filter', 'sort'].flatMap((name) => query.getAll(name).map((value) => [name, value]));
  const shown = query.getAll('filter').join('\n');
  const current = (search: string) => (filtersIn(search) === shown ? 'page' : undefined);
  return (
    <nav class="views" aria-label="Views">
      {views.map(([label, filters], at) => (
        <Link key={label} to={pathOf(kind, searchOf(filters))} aria-current={current(searchOf(filters))}>
          {label} <span class="muted">{counts.data?.[at]?.toLocaleString()}</span>
        </Link>
      ))}
      {saved.map(([name, search]) => (
        <span key={name} class="saved-view">
          <Link to={pathOf(kind, search)} aria-current={current(search)}>
            {name}
          </Link>
          <IconButton
            size="small"
            icon="close"
            label={`Delete the view ${name}`}
            onClick={() => keep(saved.filter(([other]) => other !== name))}
          />
        </span>
      ))}
      {own.length > 0 && saved.length < SAVED_MOST && (
        <Button size="small" tone="quiet" icon="plus" onClick={() => setSaving(true)}>
          Save view
        </Button>
      )}
      {isSaving && (
        <SaveView
          onSave={(name) =>
            keep([...saved.filter(([other]) => other !== name), [name, new URLSearchParams(own).toString()]])
          }
          onClose={() => setSaving(false)}
        />
      )}
    </nav>
  );
}

const pathOf = (kind: Kind, search: string): string => `/records/${kind}${search === '' ? '' : `?${search}`}`;

function SaveView({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState('');
  const save = () => {
    onSave(name.trim());
    onClose();
    return Promise.resolve();
  };
  return (
    <FormDialog title="Save view" description="Saved on this device." action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="Name" name="name" required autofocus maxLength={40} value={name} onValue={setName} />
    </FormDialog>
  );
}
