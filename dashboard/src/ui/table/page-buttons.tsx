/**
 * Buttons to move through a list without numbered pages: previous and next, or more below.
 */
import type { ComponentChildren } from 'preact';
import { Button } from '../button.tsx';

interface PageButtonsProps {
  /** Opens the page. Undefined disables the button, because there is no such page. */
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
  /** A text about the shown rows, e.g. `50 requests`. */
  children?: ComponentChildren;
}

const Count = ({ children }: { children: ComponentChildren }) => (
  <p class="muted" aria-live="polite">
    {children}
  </p>
);

/**
 * Example: `<PageButtons onPrevious={cursor ? goBack : undefined} onNext={next ? goOn : undefined}>50
 * records</PageButtons>`.
 */
export const PageButtons = ({ onPrevious, onNext, children }: PageButtonsProps) => (
  <nav class="pager" aria-label="Pages">
    <Count>{children}</Count>
    <Button size="small" icon="back" disabled={!onPrevious} onClick={() => onPrevious?.()}>
      Previous
    </Button>
    <Button size="small" disabled={!onNext} onClick={() => onNext?.()}>
      Next
    </Button>
  </nav>
);

interface LoadMoreProps {
  onMore: (() => void) | undefined;
  isBusy: boolean;
  label: string;
  children?: ComponentChildren;
}

/** Example: `<LoadMore label="Older" onMore={more} isBusy={isBusy}>100 records</LoadMore>`. */
export const LoadMore = ({ onMore, isBusy, label, children }: LoadMoreProps) => (
  <div class="pager">
    <Count>{children}</Count>
    {onMore && (
      <Button size="small" isBusy={isBusy} onClick={onMore}>
        {label}
      </Button>
    )}
  </div>
);
