/**
 * The filters above a list of records, applied together and kept in the address. The form shows their errors, and the
 * field that the service suggests.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { FieldsView } from '../../../../src/http/dashboard/interface.ts';
import type { FieldType } from '../../../../src/pims/rules/fields.ts';
import { FILTERS_MAX } from '../../../../src/pims/rules/record-bounds.ts';
import { STAGES } from '../../../../src/pims/rules/stages.ts';
import type { ApiError } from '../../api/client.ts';
import {
  endsOf,
  formatFilter,
  isOperator,
  OPERATORS,
  parseFilters,
  takesValue,
  where,
  type RecordFilter,
} from '../../records/filters.ts';
import type { Kind } from '../../records/records.ts';
import { useQuery } from '../../browser/router.tsx';
import { labelStage, toIsoDate } from '../../ui/text/text.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Select, TextField, type Option } from '../../ui/form/field.tsx';
import { labelOf } from '../../records/label.ts';
import { Notice } from '../../ui/page.tsx';

interface EditedFilter extends RecordFilter {
  readonly id: number;
}
let lastId = 0;
const toRow = (filter: RecordFilter): EditedFilter => ({ ...filter, id: ++lastId });
const normalise = <F extends RecordFilter>(filter: F): F => ({ ...filter, field: filter.field.trim().toUpperCase() });
/** Formats the rows, without rows that have no field yet. */
const formatRows = (rows: readonly RecordFilter[]): string[] =>
  rows.map(normalise).flatMap((row) => (row.field === '' ? [] : [formatFilter(row)]));

type Fields = FieldsView['fields'][Kind];
/** Returns the name of the field whose name or label was typed, or the typed text. */
function nameField(typed: string, fields: Fields, kind: Kind): string {
  const text = typed.trim().toLowerCase();
  const isMeant = (words: string) => words.toLowerCase() === text;
  const found = fields.find(({ name }) => isMeant(name)) ?? fields.find(({ name }) => isMeant(labelOf(name, kind)));
  return found?.name ?? typed;
}

interface FilterBarProps {
  kind: Kind;
  fields: Fields;
  error: ApiError | undefined;
}

export function FilterBar({ kind, fields, error }: FilterBarProps) {
  const [query, setQuery] = useQuery();
  const applied = query.getAll('filter').join('\n');
  const [rows, setRows] = useState<readonly EditedFilter[]>(() => parseFilters(query).map(toRow));
  const bar = useRef<HTMLFormElement>(null);
  const list = useId();
  useEffect(() => {
    // Back or a link has changed the filters in the address.
    if (formatRows(rows).join('\n') !== applied) setRows(parseFilters(query).map(toRow));
  }, [applied]);
  const isChanged = formatRows(rows).join('\n') !== applied;
  const apply = (next: readonly EditedFilter[]) => {
    setRows(next.map(normalise));
    setQuery({ filter: formatRows(next), cursor: null, page: null });
  };
  const change = (id: number, part: Partial<RecordFilter>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  /** Applies filters when the pressed button disappears, and moves the focus to a button that stays. */
  const applyAndLeave = (next: readonly EditedFilter[]) => {
    apply(next);
    bar.current?.querySelector<HTMLButtonElement>('.add-filter')?.focus();
  };
  const correct = (field: string) =>
    applyAndLeave(rows.map((row) => (normalise(row).field === error?.field ? { ...row, field } : row)));
  return (
    <form
      ref={bar}
      class={rows.length === 0 ? 'filters none' : 'filters'}
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply(rows);
      }}
    >
      {rows.map((row, index) => (
        <FilterRow
          key={row.id}
          row={row}
          kind={kind}
          fields={fields}
          index={index}
          list={list}
          error={error}
          onChange={(part) => change(row.id, part)}
          onRemove={() => applyAndLeave(rows.filter((one) => one !== row))}
        />
      ))}
      <FieldNames id={list} kind={kind} fields={fields} />
      <div class="filter-actions">
        <Button
          size="small"
          icon="plus"
          class="add-filter"
          disabled={rows.length >= FILTERS_MAX}
          onClick={() => setRows([...rows, toRow(where('', 'eq', ''))])}
        >
          Add filter
        </Button>
        {rows.length > 0 && (
          <>
            <Button size="small" type="submit" tone={isChanged ? 'primary' : 'secondary'}>
              Apply filters
            </Button>
            <Button size="small" tone="quiet" onClick={() => applyAndLeave([])}>
              Clear all
            </Button>
          </>
        )}
        {rows.length >= FILTERS_MAX && <span class="hint">The maximum is {FILTERS_MAX} filters.</span>}
        {rows.slice(1).some(({ conjunction }) => conjunction === 'OR') && (
          <span class="hint">AND is applied before OR.</span>
        )}
      </div>
      {error && <FilterRefusal kind={kind} error={error} onCorrect={correct} />}
    </form>
  );
}

const FieldNames = ({ id, kind, fields }: { id: string; kind: Kind; fields: Fields }) => (
  <datalist id={id}>
    {fields.map(({ name }) => (
      <option key={name} value={labelOf(name, kind)}>
        {name}
      </option>
    ))}
  </datalist>
);

const NO_CUSTOMER_NAME = 'Orders have no CUSTOMER_NAME. Customer names are in BNAME (billing) and SNAME (shipping).';
const REMEDIES: Readonly<Record<string, string>> = {
  QUERY_TOO_COSTLY: 'Add a filter “is exactly” on an indexed field (see Fields), or search for a longer text.',
  INVALID_CURSOR: 'Apply the filters again, or open the list from the menu, to start from the first page.',
};

interface FilterRefusalProps {
  kind: Kind;
  error: ApiError;
  onCorrect: (field: string) => void;
}
function FilterRefusal({ kind, error, onCorrect }: FilterRefusalProps) {
  const isName = kind === 'orders' && error.field === 'CUSTOMER_NAME';
  const suggestion = isName ? 'BNAME' : error.suggestion;
  const action = suggestion !== undefined && (
    <Button size="small" onClick={() => onCorrect(suggestion)}>{`Use ${suggestion}`}</Button>
  );
  return (
    <Notice tone="bad" title={isName ? NO_CUSTOMER_NAME : error.message} actions={action || undefined}>
      {REMEDIES[error.code] ?? <code class="small">{error.code}</code>}
    </Notice>
  );
}

interface FilterRowProps {
  row: EditedFilter;
  kind: Kind;
  fields: Fields;
  index: number;
  list: string;
  error: ApiError | undefined;
  onChange: (part: Partial<RecordFilter>) => void;
  onRemove: () => void;
}

const DAY_OPERATORS: readonly string[] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'between'];
const STAGE_CHOICES = STAGES.map((stage): Option => [stage, labelStage(stage)]);
const FLAG_CHOICES: readonly Option[] = [
  ['Y', 'Yes'],
  ['N', 'No'],
];

function FilterRow({ row, kind, fields, index, list, error, onChange, onRemove }: FilterRowProps) {
  const known = fields.find(({ name }) => name === normalise(row).field);
  const named = (what: string) => ({
    label: `${what} of filter ${index + 1}`,
    isLabelHidden: true,
    name: what.toLowerCase(),
  });
  const isMeant = error?.field !== undefined && error.field === normalise(row).field;
  const isFieldMeant = isMeant && error.code === 'UNKNOWN_FIELD';
  const choices = known?.name === 'ORDER_TYPE' ? STAGE_CHOICES : known?.type === 'flag' ? FLAG_CHOICES : undefined;
  return (
    <div class="filter-row" role="group" aria-label={`Filter ${index + 1}`}>
      {index === 0 ? (
        <span class="filter-where muted">Where</span>
      ) : (
        <Select
          {...named('Conjunction')}
          value={row.conjunction}
          onValue={(conjunction) => onChange({ conjunction })}
          options={[
            ['AND', 'AND'],
            ['OR', 'OR'],
          ]}
        />
      )}
      <TextField
        {...named('Field')}
        list={list}
        placeholder="Field"
        autofocus={row.field === ''}
        isExact
        title={known?.name ?? ''}
        value={known ? labelOf(known.name, kind) : row.field}
        onValue={(typed) => onChange({ field: nameField(typed, fields, kind) })}
        error={isFieldMeant ? 'Choose a field from the list.' : undefined}
      />
      <Select
        {...named('Match')}
        value={row.op}
        onValue={(op) => isOperator(op) && onChange({ op })}
        options={Object.entries(OPERATORS)}
      />
      {choices && (row.op === 'eq' || row.op === 'ne') ? (
        <Select
          {...named('Value')}
          value={row.value}
          onValue={(value) => onChange({ value })}
          options={[['', 'Choose'], ...choices]}
        />
      ) : takesValue(row.op) ? (
        <FilterValues
          label={named('Value').label}
          row={row}
          type={known?.type}
          onChange={onChange}
          error={isMeant && !isFieldMeant ? 'Correct this value.' : undefined}
        />
      ) : (
        <span />
      )}
      <IconButton icon="close" label={`Remove filter ${index + 1}`} onClick={onRemove} />
    </div>
  );
}

interface FilterValuesProps extends Pick<FilterRowProps, 'row' | 'onChange'> {
  type: FieldType | undefined;
  label: string;
  error: string | undefined;
}

/** The value of a filter, or both ends of a range. Dates are chosen from a calendar. */
function FilterValues({ label, row, type, onChange, error }: FilterValuesProps) {
  const isDay = (type === 'date' || type === 'timestamp') && DAY_OPERATORS.includes(row.op);
  const ends = row.op === 'between' ? endsOf(row.value) : [row.value];
  return (
    <div class="filter-values">
      {ends.map((value, at) => (
        <TextField
          key={at}
          label={ends.length === 1 ? label : `${label}, ${at === 0 ? 'from' : 'to'}`}
          isLabelHidden
          name="value"
          type={isDay ? 'date' : 'text'}
          placeholder={row.op === 'in' ? 'Values, separated by commas' : 'Value'}
          isExact
          value={isDay ? toIsoDate(value) : value}
          onValue={(typed) => onChange({ value: ends.with(at, typed).join('..') })}
          error={error}
        />
      ))}
    </div>
  );
}
