/** Keeps the place in a long list, so that Back returns to it. */
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { isReturning } from '../../router.tsx';

const PLACES_MOST = 50;
const places = new Map<string, readonly [region: number, page: number]>();
const findRegion = (): HTMLElement | null => document.querySelector('main .table-region');

/** Example: `usePlace(rows !== undefined)` on a page with one table; restores the place once the rows are shown. */
export function usePlace(isShown: boolean): void {
  useEffect(() => {
    // The position is noted while the user scrolls, because the router scrolls to the top before the page is left.
    const note = () => {
      places.delete(location.href);
      places.set(location.href, [findRegion()?.scrollTop ?? 0, scrollY]);
      if (places.size > PLACES_MOST) places.delete(places.keys().next().value!);
    };
    document.addEventListener('scroll', note, { capture: true, passive: true });
    return () => document.removeEventListener('scroll', note, { capture: true });
  }, []);
  useLayoutEffect(() => {
    const place = isReturning() ? places.get(location.href) : undefined;
    if (!isShown || place === undefined) return;
    findRegion()?.scrollTo(0, place[0]);
    scrollTo(0, place[1]);
  }, [isShown]);
}
