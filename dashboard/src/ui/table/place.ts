/** Keeps the place in a long list, so that Back returns to it. */
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { isReturning } from '../../browser/router.tsx';

const PLACES_MAX = 50;
const places = new Map<string, readonly [region: number, page: number]>();
export const findRegion = () => document.querySelector<HTMLElement>('main .table-region');

/** Notes the position while the user scrolls, because the router scrolls to the top before the page is left. */
export function useScrollNote(note: (region: number, page: number) => void): void {
  useEffect(() => {
    const scrolled = () => note(findRegion()?.scrollTop ?? 0, scrollY);
    document.addEventListener('scroll', scrolled, { capture: true, passive: true });
    return () => document.removeEventListener('scroll', scrolled, { capture: true });
  }, []);
}

/** Example: `usePlace(rows !== undefined)` on a page with one table; restores the place once the rows are shown. */
export function usePlace(isShown: boolean): void {
  useScrollNote((...place) => {
    places.delete(location.href);
    places.set(location.href, place);
    if (places.size > PLACES_MAX) places.delete(places.keys().next().value!);
  });
  useLayoutEffect(() => {
    const place = isReturning() ? places.get(location.href) : undefined;
    if (!isShown || place === undefined) return;
    findRegion()?.scrollTo(0, place[0]);
    scrollTo(0, place[1]);
  }, [isShown]);
}
