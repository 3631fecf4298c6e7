/**
 * Names and values, one below the other.
 */
import type { ComponentChildren } from 'preact';

export interface KeyValueProps {
  rows: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Names as PIMS writes them. */
  isMono?: boolean | undefined;
}

/**
 * Example: `<KeyValue rows={[['Issued', <Time at={key.issuedAt} />], ['By', key.issuedBy]]} />`; an empty value shows
 * `–`.
 */
export const KeyValue = ({ rows, isMono }: KeyValueProps) => (
  <dl class={isMono ? 'key-value mono-names' : 'key-value'}>
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value === '' || value === null || value === undefined ? <span class="muted">–</span> : value}</dd>
      </div>
    ))}
  </dl>
);
