/**
 * A field that finds a part or a customer by text in its code, its name or another searched field, and the question
 * about codes that no record has.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { anyOf, CONTAINS_LEAST } from '../filters.ts';
import { faultAt } from '../../api/client.ts';
import { KINDS, queryRecords } from '../records.ts';
import { Checkbox, TextField } from '../../ui/form/field.tsx';
import { formatMoney } from '../../ui/text/text.tsx';

const FOUND_MAX = 20;
const WAIT_MS = 150;
const SEARCHED = {
  inventory: ['PART_CODE', 'PART_DESCRIPTION', 'BARCODE'],
  customers: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BEMAIL'],
} as const;
type FoundKind = keyof typeof SEARCHED;

interface FindFieldProps {
  kind: FoundKind;
  label: string;
  name: string;
  value: string;
  /** `found` is the record with exactly this code, if it was found. */
  onValue: (value: string, found: Values | undefined) => void;
  /** Moves the focus on after Enter, which never sends the form here, because scanners type it after each code. */
  onEntered?: () => void;
  autofocus?: boolean;
}

/** Example: `<FindField kind="inventory" label="Part" name="PART_CODE" value={code} onValue={setCode} />`. */
export function FindField({ kind, value, onValue, onEntered, ...field }: FindFieldProps) {
  const list = useId();
  const [{ text: searched, rows: found }, setFound] = useState<{ text?: string; rows: readonly Values[] }>({
    rows: [],
  });
  const { key, noun } = KINDS[kind];
  const text = value.trim();
  const exact = found.find((row) => row[key] === text);
  // The value that the form begins with is not searched, so that opening the form changes nothing.
  const isTyped = useRef(false);
  useEffect(() => {
    if (text === '' || !isTyped.current) return undefined;
    const left = new AbortController();
    const find = async () => {
      const filters = anyOf(SEARCHED[kind], text.length < CONTAINS_LEAST ? 'eq' : 'contains', text);
      const { rows } = await queryRecords(kind, filters, { maxReturn: FOUND_MAX }, left.signal);
      setFound({ text, rows });
      const one = rows.find((row) => row[key] === text);
      if (one) onValue(value, one);
    };
    // A code that cannot be found can still be typed.
    const wait = setTimeout(() => void find().catch(() => undefined), WAIT_MS);
    return () => {
      clearTimeout(wait);
      left.abort();
    };
  }, [value]);
  const choose = async () => {
    const one = await findExact(kind, text);
    if (one) onValue(one[key] ?? '', one);
  };
  return (
    <>
      <TextField
        {...field}
        isExact
        list={list}
        value={value}
        hint={
          exact
            ? describe(kind, exact)
            : text !== '' && text === searched
              ? `No ${noun} with exactly this code was found.`
              : undefined
        }
        onValue={(typed) => {
          isTyped.current = true;
          onValue(
            typed,
            found.find((row) => row[key] === typed),
          );
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text === '') return;
          event.preventDefault();
          void choose().catch(() => undefined);
          onEntered?.();
        }}
      />
      <datalist id={list}>
        {found.map((row) => (
          <option key={row[key]} value={row[key]}>
            {describe(kind, row)}
          </option>
        ))}
      </datalist>
    </>
  );
}

/** Returns the record with this code, or the only one with this barcode or email address, or undefined. */
async function findExact(kind: FoundKind, code: string): Promise<Values | undefined> {
  const { key } = KINDS[kind];
  const { rows } = await queryRecords(kind, anyOf([key, SEARCHED[kind][2]], 'eq', code), { maxReturn: FOUND_MAX });
  return rows.find((row) => row[key] === code) ?? (rows.length === 1 ? rows[0] : undefined);
}

type TypedCode = readonly [kind: FoundKind, code: string, field: string, found?: Values | undefined];
/**
 * Returns `know`, which finds the records of typed codes, and `question`, to show in the form. `know` throws an error
 * at the field of an unknown code until the user has said to use it.
 */
export function useKnownCodes() {
  const [unknown, setUnknown] = useState('');
  const [accepted, setAccepted] = useState('');
  const know = async (typed: readonly TypedCode[]) => {
    const found = await Promise.all(typed.map(async ([kind, code, , one]) => one ?? findExact(kind, code)));
    const missing = typed.filter((_, at) => !found[at]);
    const asked = missing.map(([kind, code]) => `No ${KINDS[kind].noun} has the code '${code}'.`).join(' ');
    setUnknown(asked);
    if (missing[0] && asked !== accepted) throw faultAt(missing[0][2], asked);
    return found;
  };
  const question = unknown !== '' && (
    <Checkbox
      label={`${unknown} Use it anyway.`}
      name="unknown"
      isChecked={accepted === unknown}
      onChecked={(isAccepted) => setAccepted(isAccepted ? unknown : '')}
    />
  );
  return { know, question };
}

function describe(kind: FoundKind, row: Values): string {
  if (kind === 'customers') return [row.CUSTOMER_NAME, row.BCITY, row.BEMAIL].filter(Boolean).join(' · ');
  const price = row.UNIT_PRICE && formatMoney(row.UNIT_PRICE);
  return [row.PART_DESCRIPTION, price, `${row.QTY_AVAILABLE || '0'} available`].filter(Boolean).join(' · ');
}
