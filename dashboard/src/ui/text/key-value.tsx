/**
 * Names and values, one below the other.
 */
import type { ComponentChildren } from 'preact';
import { None } from './text.tsx';

interface KeyValueProps {
  rows: readonly (readonly [name: string, value: ComponentChildren, title?: string])[];
  /** `mono-names` is for names of code, and `facts` for values side by side in a card. */
  look?: 'mono-names' | 'facts';
}

/**
 * Example: `<KeyValue rows={[['Issued', <Time at={key.issuedAt} />], ['By', key.issuedBy]]} />`; an empty value shows
 * `–`.
 */
export const KeyValue = ({ rows, look }: KeyValueProps) => (
  <dl class={look === 'facts' ? 'facts' : `key-value ${look ?? ''}`}>
    {rows.map(([name, value, title = name]) => (
      <div key={title}>
        <dt title={title}>{name}</dt>
        <dd>{value === '' || value === null || value === undefined ? <None /> : value}</dd>
      </div>
    ))}
  </dl>
);
