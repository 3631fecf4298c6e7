/** A field that finds a part or a customer by text in its code, its name or another searched field. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { anyOf, CONTAINS_LEAST } from '../../api/filters.ts';
import { KINDS, queryRecords } from '../../api/records.ts';
import { TextField } from '../../ui/form/field.tsx';
import { formatMoney } from '../../ui/text/text.tsx';

const FOUND_MOST = 20;
const WAIT_MS = 150;
const SEARCHED = {
  inventory: ['PART_CODE', 'PART_DESCRIPTION', 'BARCODE'],
  customers: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BEMAIL'],
} as const;

interface FindFieldProps {
  kind: keyof typeof SEARCHED;
  label: string;
  name: string;
  value: string;
  /** `found` is the record with exactly this code, if it was found. */
  onValue: (value: string, found: Values | undefined) => void;
  autofocus?: boolean;
}

/** Example: `<FindField kind="inventory" label="Part" name="PART_CODE" value={code} onValue={setCode} />`. */
export function FindField({ kind, value, onValue, ...field }: FindFieldProps) {
  const list = useId();
  const [found, setFound] = useState<readonly Values[]>([]);
  const { key } = KINDS[kind];
  // The value that the form begins with is not searched, so that opening the form changes nothing.
  const isTyped = useRef(false);
  useEffect(() => {
    const text = value.trim();
    if (text === '' || !isTyped.current) return undefined;
    const left = new AbortController();
    const find = async () => {
      const filters = anyOf(SEARCHED[kind], text.length < CONTAINS_LEAST ? 'eq' : 'contains', text);
      const { rows } = await queryRecords(kind, filters, { maxReturn: FOUND_MOST }, left.signal);
      setFound(rows);
      const exact = rows.find((row) => row[key] === text);
      if (exact) onValue(value, exact);
    };
    // A code that cannot be found can still be typed.
    const wait = setTimeout(() => void find().catch(() => undefined), WAIT_MS);
    return () => {
      clearTimeout(wait);
      left.abort();
    };
  }, [value]);
  return (
    <>
      <TextField
        {...field}
        isExact
        list={list}
        value={value}
        onValue={(typed) => {
          isTyped.current = true;
          onValue(
            typed,
            found.find((row) => row[key] === typed),
          );
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

function describe(kind: keyof typeof SEARCHED, row: Values): string {
  if (kind === 'customers') return [row.CUSTOMER_NAME, row.BCITY, row.BEMAIL].filter(Boolean).join(' · ');
  const price = row.UNIT_PRICE && formatMoney(row.UNIT_PRICE);
  return [row.PART_DESCRIPTION, price, `${row.QTY_AVAILABLE || '0'} available`].filter(Boolean).join(' · ');
}
