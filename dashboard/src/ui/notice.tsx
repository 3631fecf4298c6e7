/**
 * Notices on the page, and what stands in for content: loading, failed, empty.
 */
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client.ts';
import type { Tone } from './badge.tsx';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export interface NoticeProps {
  tone?: Tone | undefined;
  title?: string | undefined;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** Example: `<Notice tone="warn" title="Shown this once">Keep the secret now.</Notice>`. */
export const Notice = ({ tone = 'neutral', title, actions, children }: NoticeProps) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
    <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : tone === 'good' ? 'check' : 'info'} />
    <div>
      {title !== undefined && <p class="notice-title">{title}</p>}
      {children !== undefined && <div>{children}</div>}
      {actions !== undefined && <div class="notice-actions">{actions}</div>}
    </div>
  </div>
);

/**
 * Example: `<Empty title="No orders match" action={<Button onClick={clear}>Clear filters</Button>}>Try fewer
 * filters.</Empty>`.
 */
export const Empty = ({
  title,
  action,
  children,
}: {
  title: string;
  action?: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children !== undefined && <p class="muted">{children}</p>}
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
      {error.requestId !== undefined && ` · request ${error.requestId}`}
    </span>
  </Notice>
);

/** Example: `<Spinner label="Verifying the log" />`. */
export const Spinner = ({ label }: { label: string }) => (
  <span class="spinner-line" role="status">
    <span class="spinner" aria-hidden="true" />
    <span>{label}</span>
  </span>
);

/** In the place of a page whose code is being fetched. */
export const PageSkeleton = () => (
  <div class="page" aria-busy="true">
    <span class="skeleton title" />
    <span class="skeleton w4" />
  </div>
);

/** Lines in the place of text that is being loaded. Example: `{data ? … : <Skeleton lines={3} />}`. */
export const Skeleton = ({ lines = 3 }: { lines?: number }) => (
  <div class="skeleton-lines" aria-busy="true">
    {Array.from({ length: lines }, (_, line) => (
      <span key={line} class={`skeleton w${(line % 4) + 1}`} />
    ))}
  </div>
);
