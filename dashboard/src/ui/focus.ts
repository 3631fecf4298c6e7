/**
 * Moves the focus when its element disappears, or when something appears that must be read immediately.
 */
import { useEffect, useRef } from 'preact/hooks';

/**
 * Moves the focus to the heading of the page, after a closing dialog has moved it back. Call it when the
 * element that opened the dialog may have disappeared.
 */
export function focusHeading(): void {
  window.setTimeout(() => document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true }));
}

/** Example: `const heading = useFocusWhenShown<HTMLHeadingElement>()`, `<h2 ref={heading} tabIndex={-1}>`. */
export function useFocusWhenShown<E extends HTMLElement>() {
  const element = useRef<E>(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}
