/**
 * Buttons to move through a list without numbered pages: newer and older, or more below.
 */
import type { ComponentChildren } from 'preact';
import { Button } from '../button.tsx';

export interface PageButtonsProps {
  /** undefined where there is nothing: the button is switched off. */
  onNewer: (() => void) | undefined;
  onOlder: (() => void) | undefined;
  /** `Newer` and `Older`, if nothing else. */
  labels?: readonly [newer: string, older: string];
  /** What is shown, e.g. `50 requests`. */
  children?: ComponentChildren;
}

/**
 * Example: `<PageButtons onNewer={cursor ? goBack : undefined} onOlder={next ? goOn : undefined}>50
 * requests</PageButtons>`.
 */
export const PageButtons = ({ onNewer, onOlder, labels = ['Newer', 'Older'], children }: PageButtonsProps) => (
  <nav class="pager" aria-label="Pages">
    <p class="muted" aria-live="polite">
      {children}
    </p>
    <Button size="small" icon="back" disabled={onNewer === undefined} onClick={() => onNewer?.()}>
      {labels[0]}
    </Button>
    <Button size="small" disabled={onOlder === undefined} onClick={() => onOlder?.()}>
      {labels[1]}
    </Button>
  </nav>
);

export interface LoadMoreProps {
  onMore: (() => void) | undefined;
  isBusy?: boolean;
  label?: string;
  children?: ComponentChildren;
}

/** Example: `<LoadMore onMore={next === null ? undefined : more} isBusy={isLoading}>100 records</LoadMore>`. */
export const LoadMore = ({ onMore, isBusy, label = 'Load more', children }: LoadMoreProps) => (
  <div class="pager">
    <p class="muted" aria-live="polite">
      {children}
    </p>
    {onMore !== undefined && (
      <Button size="small" isBusy={isBusy} onClick={onMore}>
        {label}
      </Button>
    )}
  </div>
);
