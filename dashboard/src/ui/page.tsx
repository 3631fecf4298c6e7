/**
 * The parts of a page: heading, sections, cards, figures and toolbars; notices, and placeholders for content that is
 * loading, failed or empty. Begin here.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import type { Loaded } from '../api/use-load.ts';
import { takeHeadingFocus } from '../browser/router.tsx';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

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

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info';

interface NoticeProps {
  tone?: Tone;
  title?: string;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** Example: `<Notice tone="warn" title="Shown only once">Copy the secret now.</Notice>`. */
export const Notice = ({ tone = 'neutral', title, actions, children }: NoticeProps) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
    <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : tone === 'good' ? 'check' : 'info'} />
    <div>
      {title && <p class="notice-title">{title}</p>}
      {children && <div>{children}</div>}
      {actions && <div class="notice-actions">{actions}</div>}
    </div>
  </div>
);

const NOT_FETCHED = 'You may be offline, or the service was updated. Reload the page.';
/**
 * Says that code could not be fetched. Browsers do not fetch it again before the page is reloaded. Example:
 * `<ReloadNotice title="This form could not be shown" />`.
 */
export const ReloadNotice = ({ children = NOT_FETCHED, ...notice }: NoticeProps) => (
  <Notice tone="bad" {...notice} actions={<Button onClick={() => location.reload()}>Reload</Button>}>
    {children}
  </Notice>
);

interface EmptyProps {
  title: string;
  action?: ComponentChildren;
  children?: ComponentChildren;
}
/**
 * Example: `<Empty title="No orders match" action={<Button onClick={clear}>Clear filters</Button>}>Try fewer
 * filters.</Empty>`.
 */
export const Empty = ({ title, action, children }: EmptyProps) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children && <p class="muted">{children}</p>}
    {action}
  </div>
);

/** Example: `{error && <LoadError error={error} onRetry={reload} />}`. */
export const LoadError = ({ error, onRetry }: { error: ApiError; onRetry?: (() => void) | undefined }) => (
  <Notice
    tone="bad"
    title={error.message}
    actions={
      onRetry && (
        <Button size="small" icon="reload" onClick={onRetry}>
          Try again
        </Button>
      )
    }
  >
    <span class="small">
      <code>{error.code}</code>
      {error.requestId && ` · request ${error.requestId}`}
    </span>
  </Notice>
);

interface WhenLoadedProps<T> {
  from: Pick<Loaded<T>, 'data' | 'error' | 'reload'>;
  /** The number of placeholder lines to show while the data is loading. */
  lines?: number;
  children: (data: T) => ComponentChildren;
}
/**
 * Shows the data, an error above it if there is one, or placeholder lines during the first load. Example:
 * `<WhenLoaded from={useLoad(…)}>{(user) => user.name}</WhenLoaded>`.
 */
export function WhenLoaded<T>({ from: { data, error, reload }, lines = 6, children }: WhenLoadedProps<T>) {
  const fault = error && <LoadError error={error} onRetry={reload} />;
  if (data === undefined) return fault ?? <Skeleton lines={lines} />;
  return (
    <>
      {fault}
      {children(data)}
    </>
  );
}

/** Example: `<Spinner label="Verifying the log" />`. */
export const Spinner = ({ label }: { label: string }) => (
  <span class="spinner-line" role="status">
    <span class="spinner" aria-hidden="true" />
    <span>{label}</span>
  </span>
);

/** The placeholder of a page whose code is being fetched. */
export const PageSkeleton = () => (
  <div class="page" aria-busy="true">
    <span class="skeleton title" />
    <span class="skeleton w4" />
  </div>
);

/** Example: `<Skeleton lines={6} />`. */
export const Skeleton = ({ lines }: { lines: number }) => (
  <div class="skeleton-lines" aria-busy="true">
    {Array.from({ length: lines }, (_, line) => (
      <span key={line} class={`skeleton w${(line % 4) + 1}`} />
    ))}
  </div>
);
