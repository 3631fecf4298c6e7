/**
 * The columns of a list of records: the ones chosen on this device, or the defaults of the kind. The key column always
 * stays.
 */
import { useState } from 'preact/hooks';
import type { FieldsView } from '../../../../src/http/dashboard/interface.ts';
import { KINDS, type Kind } from '../../records/records.ts';
import { loadChoice, saveChoice } from '../../browser/device.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { labelOf } from '../../records/label.ts';
import { Dialog, openDialog, useClose } from '../../ui/dialog/dialog.tsx';
import { Checkbox, useEntry } from '../../ui/form/field.tsx';

const storageKey = (kind: Kind) => `storeroom.columns.${kind}`;

function loadColumns(kind: Kind): readonly string[] {
  const { key, columns } = KINDS[kind];
  const kept = loadChoice(storageKey(kind));
  return kept === undefined ? columns : [key, ...(kept.match(/\w+/g) ?? []).filter((name) => name !== key)];
}

/** Example: `const [columns, setColumns] = useColumns('orders')`; undefined resets them to the defaults. */
export function useColumns(kind: Kind) {
  const [columns, setColumns] = useState(() => loadColumns(kind));
  const change = (next: readonly string[] | undefined) => {
    setColumns(next ?? KINDS[kind].columns);
    saveChoice(storageKey(kind), next?.join(' '));
  };
  return [columns, change] as const;
}

interface ColumnChooserProps {
  kind: Kind;
  fields: FieldsView['fields'][Kind];
  columns: readonly string[];
  onColumns: (columns: readonly string[] | undefined) => void;
}

export const ColumnChooser = (columns: ColumnChooserProps) => (
  <Button
    icon="fields"
    disabled={columns.fields.length === 0}
    onClick={() => openDialog(<ColumnDialog {...columns} />)}
  >
    Columns
  </Button>
);

function ColumnDialog({ kind, fields, columns, onColumns }: ColumnChooserProps) {
  const { key, columns: defaults } = KINDS[kind];
  const chosen = useEntry(columns);
  const change = (next: readonly string[] | undefined) => {
    chosen.onValue(next ?? defaults);
    onColumns(next);
  };
  const toggle = (name: string, isShown: boolean) =>
    change(isShown ? [...chosen.value, name] : chosen.value.filter((column) => column !== name));
  return (
    <Dialog
      title="Columns"
      description="Your choice is saved on this device. New columns are added at the end."
      width="wide"
    >
      <div class="column-list">
        {fields.map(({ name }) => (
          <Checkbox
            key={name}
            name={name}
            label={<span title={name}>{labelOf(name, kind)}</span>}
            disabled={name === key}
            isChecked={chosen.value.includes(name)}
            onChecked={(isShown) => toggle(name, isShown)}
          />
        ))}
      </div>
      <Actions>
        <Button onClick={() => change(undefined)}>Reset</Button>
        <Button tone="primary" onClick={useClose()}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}
