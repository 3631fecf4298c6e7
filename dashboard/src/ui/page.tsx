/**
 * The parts of a page: heading, sections, cards, figures and toolbars. Begin here.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { takeHeadingFocus } from '../router.tsx';

interface SectionProps {
  title: string;
  description?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}
interface PageProps extends SectionProps {
  /** Content next to the heading. */
  badge?: ComponentChildren;
  /** `narrow` for text and forms. Tables use the full width. */
  width?: 'narrow' | 'full';
}

/** Example: `<Page title="Usage" description="Calls of this month." actions={<Button>Download</Button>}>…</Page>`. */
export function Page({ title, badge, description, actions, width = 'full', children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Storeroom`;
  }, [title]);
  useEffect(() => {
    // A form may have taken the focus for its first field.
    if (takeHeadingFocus() && !document.activeElement?.matches('input'))
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class={`page ${width}`}>
      <header class="page-head">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {badge}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
        {description && <p>{description}</p>}
      </header>
      {children}
    </div>
  );
}

/**
 * A part of a page with a heading. Example: `<Section title="Sessions" actions={<Button>End all
 * others</Button>}>…</Section>`.
 */
export function Section({ title, description, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <header class="section-head">
        <h2 id={id}>{title}</h2>
        {actions && <div class="page-actions">{actions}</div>}
        {description && <p>{description}</p>}
      </header>
      {children}
    </section>
  );
}

/** A box with a border. Example: `<Card><KeyValue rows={…} /></Card>`. */
export const Card = ({ children }: { children: ComponentChildren }) => <div class="card">{children}</div>;

/**
 * A row of filters and actions above a table. Example: `<Toolbar label="Filters"><Select … /></Toolbar>`.
 */
export const Toolbar = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div class="toolbar" role="group" aria-label={label}>
    {children}
  </div>
);

/** Cards side by side if there is room. Example: `<Columns><Card>…</Card><Card>…</Card></Columns>`. */
export const Columns = ({ children }: { children: ComponentChildren }) => <div class="columns">{children}</div>;

/** An important figure. Example: `<Figure label="Calls" value="12,041" note="of 50,000" />`. */
export const Figure = ({
  label,
  value,
  note,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}) => (
  <div class="card figure">
    <p class="muted">{label}</p>
    <p class="figure-value">{value}</p>
    {note && <div class="muted small">{note}</div>}
  </div>
);
