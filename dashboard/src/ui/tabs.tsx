/**
 * Tabs by the ARIA pattern: arrow keys, Home and End move between them. Only the selected panel is rendered.
 */
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

interface Tab {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly content: () => ComponentChildren;
}
interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** With both properties, the page keeps the selected tab, for example in the address. */
  selected?: string;
  onSelect?: ((id: string) => void) | undefined;
}

/** Example: `<Tabs label="Code" tabs={[{ id: 'curl', label: 'curl', content: () => <CodeBlock … /> }]} />`. */
export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState(tabs[0]?.id);
  const shown = tabs.find((tab) => tab.id === (selected ?? own)) ?? tabs[0];
  const select = (next: string) => (onSelect ?? setOwn)(next);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = tabs.findIndex((tab) => tab.id === shown?.id);
    const targets: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = (target + tabs.length) % tabs.length;
    select(tabs[next]!.id);
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} class="tab-list" ref={list} onKeyDown={move} tabIndex={-1}>
        {tabs.map((tab) => {
          const isShown = tab.id === shown?.id;
          return (
            <button
              key={tab.id}
              type="button"
              role="tab"
              id={`${id}-${tab.id}`}
              aria-selected={isShown}
              aria-controls={isShown ? `${id}-panel` : undefined}
              tabIndex={isShown ? 0 : -1}
              onClick={() => select(tab.id)}
            >
              {tab.label}
            </button>
          );
        })}
      </div>
      {shown && (
        <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown.id}`}>
          {shown.content()}
        </div>
      )}
    </div>
  );
}
