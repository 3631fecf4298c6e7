/** Notices on the page, and placeholders for content that is loading, failed or empty. */
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client.ts';
import type { Loaded } from '../api/use-load.ts';
import type { Tone } from './badge.tsx';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

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
  /** The number of lines to show instead of the data. */
  lines?: number;
  children: (data: T) => ComponentChildren;
}
/**
 * Shows the data, its error, or lines while it is loaded. Example: `<WhenLoaded from={useLoad(…)}>{(user) =>
 * user.name}</WhenLoaded>`.
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
