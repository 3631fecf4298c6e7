/**
 * The search form above the list of requests, kept in the address.
 */
import { useLayoutEffect, useState } from 'preact/hooks';
import { OPERATION_NAMES } from '../../../../src/http/operations/names.ts';
import { useGet } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { Select, TextField, type Option } from '../../ui/form/field.tsx';
import { Toolbar } from '../../ui/page.tsx';
import {
  CUSTOM,
  DEFAULT_RANGE,
  EXACT,
  RANGES,
  isNarrowed,
  parseSearch,
  parseLocalTime,
  formatLocalTime,
} from './search.ts';

const CLASSES: readonly Option[] = [
  ['', 'All statuses'],
  ['2xx', '2xx succeeded'],
  ['failed', '4xx and 5xx failed'],
  ['4xx', '4xx client errors'],
  ['5xx', '5xx server errors'],
];

const NO_FILTERS = {
  status: null,
  operation: null,
  key: null,
  code: null,
  order: null,
  range: null,
  from: null,
  to: null,
};

/** The filter by key: the valid keys, the explorer, and the key in the address, which may have ended. */
function KeyFilter() {
  const [query, setQuery] = useQuery();
  const value = query.get('key') ?? '';
  const { data } = useGet('/keys');
  const keys = (data?.keys ?? []).map(({ apiID, name }): Option => [apiID, name]);
  const known: readonly Option[] = [['', 'All keys'], ...keys, ['explorer', 'Explorer']];
  const options = known.some(([key]) => key === value) ? known : [...known, [value, value] as const];
  return (
    <Select label="Key" name="key" isLabelHidden value={value} onValue={(key) => setQuery({ key })} options={options} />
  );
}

export function RequestFilters() {
  const [query, setQuery] = useQuery();
  const filter = parseSearch(query);
  return (
    <>
      <Toolbar label="Filters">
        <StatusFilter />
        <Select
          label="Operation"
          name="operation"
          isLabelHidden
          value={filter.operation}
          onValue={(operation) => setQuery({ operation })}
          options={['', ...OPERATION_NAMES].map((name) => [name, name || 'All operations'])}
        />
        <Select
          label="Time"
          name="range"
          isLabelHidden
          value={filter.range}
          onValue={(range) => setQuery({ range: range === DEFAULT_RANGE ? null : range, from: null, to: null })}
          options={[...RANGES, [CUSTOM, 'Custom time…']]}
        />
        <KeyFilter />
        {[filter.code, filter.order && `Order ${filter.order}`].filter(Boolean).map((text) => (
          <Badge key={text}>{text}</Badge>
        ))}
        {isNarrowed(filter) && (
          <Button tone="quiet" onClick={() => setQuery(NO_FILTERS)}>
            Clear filters
          </Button>
        )}
      </Toolbar>
      {filter.range === CUSTOM && <CustomTime />}
    </>
  );
}

function StatusFilter() {
  const [query, setQuery] = useQuery();
  const status = query.get('status') ?? '';
  const isExact = !CLASSES.some(([known]) => known === status);
  const [typed, setTyped] = useState('');
  const [isChosenHere, setChosenHere] = useState(false);
  useLayoutEffect(() => setTyped(isExact && status !== EXACT ? status : ''), [status]);
  const choose = (value: string) => {
    setChosenHere(true);
    setQuery({ status: value });
  };
  const type = (text: string) => {
    setTyped(text);
    // An incomplete status does not search yet.
    if (text === '' || /^[1-5]\d\d$/.test(text)) setQuery({ status: text || EXACT }, { replace: true });
  };
  return (
    <>
      <Select
        label="Status"
        name="statusClass"
        isLabelHidden
        value={isExact ? EXACT : status}
        onValue={choose}
        options={[...CLASSES, [EXACT, 'Exact status…']]}
      />
      {isExact && (
        <div class="status-exact">
          <TextField
            label="Exact status"
            name="status"
            isLabelHidden
            isMono
            inputmode="numeric"
            maxLength={3}
            placeholder="404"
            autocomplete="off"
            autofocus={isChosenHere}
            value={typed}
            onValue={type}
            error={
              typed.length === 3 && !/^[1-5]\d\d$/.test(typed)
                ? 'Enter a status from 100 to 599, such as 404.'
                : undefined
            }
          />
        </div>
      )}
    </>
  );
}

function CustomTime() {
  const [query, setQuery] = useQuery();
  const { from, to } = parseSearch(query);
  const isTurned = from !== '' && to !== '' && from >= to;
  return (
    <Toolbar label="Custom time">
      <TextField
        label="From (your time zone)"
        name="from"
        type="datetime-local"
        value={formatLocalTime(from)}
        onValue={(local) => setQuery({ from: parseLocalTime(local) }, { replace: true })}
        error={isTurned ? 'This must be before the end.' : undefined}
      />
      <TextField
        label="To (your time zone)"
        name="to"
        type="datetime-local"
        value={formatLocalTime(to)}
        onValue={(local) => setQuery({ to: parseLocalTime(local) }, { replace: true })}
      />
    </Toolbar>
  );
}
