/**
 * Moves the focus when its element goes away, or when something appears that must be read at once.
 */
import { useEffect, useRef } from 'preact/hooks';

/**
 * To the heading of the page, once a dialog that closes now has given the focus back: for when the row of the button is
 * going away.
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
