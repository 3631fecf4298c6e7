/** The views of a list: named filters with the number of records, and views that the user has saved on this device. */
import { useRef, useState } from 'preact/hooks';
import { searchOf, where, type RecordFilter } from './filters.ts';
import { countRecords, type Kind } from './records.ts';
import { useLoad } from '../api/use-load.ts';
import { loadChoice, saveChoice } from '../browser/device.ts';
import { Link, useQuery } from '../browser/router.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { FormDialog, openDialog } from '../ui/dialog/dialog.tsx';
import { TextField, useEntry } from '../ui/form/field.tsx';

const ofStage = (stage: string, closed = 'CANCELLED') => [
  where('ORDER_TYPE', 'eq', stage),
  where('ORDER_STATUS', 'ne', closed),
];

type View = readonly [label: string, filters: readonly RecordFilter[], count?: number];
export const VIEWS: Readonly<Record<Kind, readonly View[]>> = {
  orders: [
    ['All', []],
    ['Open', ofStage('sales_order')],
    ['Quotes', ofStage('quote')],
    ['Drafts', ofStage('worksheet')],
    ['Backorders', [...ofStage('sales_order'), where('BACKORDER_OF', 'not_empty', '')]],
    ['Invoiced', ofStage('invoice', 'VOID')],
    ['Returns', [...ofStage('invoice', 'VOID'), where('RETURN_OF', 'not_empty', '')]],
    ['Cancelled', [where('ORDER_STATUS', 'in', 'CANCELLED,VOID')]],
  ],
  customers: [['All', []]],
  inventory: [
    ['All', []],
    ['Short', [where('QTY_AVAILABLE', 'lt', '0')]],
    ['On order', [where('QTY_ONORDER', 'gt', '0')]],
  ],
};
const SAVED_MAX = 20;

/** Loads the number of records of each view, or undefined if it cannot be counted in time. */
export function countViews(kind: Kind, views: readonly View[], signal: AbortSignal): Promise<View[]> {
  const count = ([label, filters]: View): Promise<View> =>
    countRecords(kind, filters, signal).then(
      (found) => [label, filters, found],
      () => [label, filters],
    );
  return Promise.all(views.map(count));
}

const filtersIn = (search: string) => new URLSearchParams(search).getAll('filter').join('\n');

type Saved = readonly (readonly [name: string, search: string, columns?: readonly string[]])[];
const storageKey = (kind: Kind) => `storeroom.views.${kind}`;
function loadSaved(kind: Kind): Saved {
  try {
    return JSON.parse(loadChoice(storageKey(kind)) ?? '[]') as Saved;
  } catch {
    return [];
  }
}

interface ViewsProps {
  kind: Kind;
  columns: readonly string[];
  onColumns: (columns: readonly string[]) => void;
  /** Whether the rows are shown. The counts are loaded after the rows. */
  isReady: boolean;
}

/** The links to the views. The address says which view is shown. */
export function Views({ kind, columns, onColumns, isReady }: ViewsProps) {
  const [query] = useQuery();
  const [saved, setSaved] = useState(() => loadSaved(kind));
  const known = useRef(VIEWS[kind]);
  const counts = useLoad(`${isReady}`, async (signal) => (isReady ? countViews(kind, VIEWS[kind], signal) : undefined));
  if (counts.data) known.current = counts.data;
  const keep = (next: Saved) => {
    setSaved(next);
    saveChoice(storageKey(kind), JSON.stringify(next));
  };
  const own = ['filter', 'sort'].flatMap((name) => query.getAll(name).map((value) => [name, value]));
  const add = (name: string) =>
    keep([...saved.filter(([other]) => other !== name), [name, new URLSearchParams(own).toString(), columns]]);
  const shown = query.getAll('filter').join('\n');
  const current = (search: string) => (filtersIn(search) === shown ? 'page' : undefined);
  return (
    <nav class="views" aria-label="Views">
      {known.current.map(([label, filters, count]) => (
        <Link key={label} to={pathOf(kind, searchOf(filters))} aria-current={current(searchOf(filters))}>
          {label} <span class="muted">{count?.toLocaleString()}</span>
        </Link>
      ))}
      {saved.map(([name, search, shownColumns]) => (
        <span key={name} class="saved-view">
          <Link
            to={pathOf(kind, search)}
            aria-current={current(search)}
            onClick={() => shownColumns && onColumns(shownColumns)}
          >
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
      {own.length > 0 && saved.length < SAVED_MAX && (
        <Button size="small" tone="quiet" icon="plus" onClick={() => openDialog(<SaveView onSave={add} />)}>
          Save view
        </Button>
      )}
    </nav>
  );
}

const pathOf = (kind: Kind, search: string) => `/records/${kind}${search === '' ? '' : `?${search}`}`;

function SaveView({ onSave }: { onSave: (name: string) => void }) {
  const name = useEntry('');
  return (
    <FormDialog
      title="Save view"
      description="A view keeps the filters, the sort order and the columns. It is saved on this device."
      action="Save"
      onSubmit={() => onSave(name.value.trim())}
    >
      <TextField label="Name" name="name" required autofocus maxLength={40} {...name} />
    </FormDialog>
  );
}
