/** Keeps the place in a list, and its pages if it loads more on demand, so that Back returns to both. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { isReturning } from '../../browser/router.tsx';

interface Place {
  readonly tops: readonly [region: number, page: number];
  readonly pages: readonly unknown[];
  /** The path that was opened from the list. */
  readonly openedPath: string;
}
const PLACES_MAX = 50;
const places = new Map<string, Place>();
const findRegion = () => document.querySelector<HTMLElement>('main .table-region');
const nameOf = (user: string) => `${user} ${location.href}`;
const findPlace = (user: string) => (isReturning() ? places.get(nameOf(user)) : undefined);

/** Returns the pages that the list of this user had when it was left, if the user has returned to it. */
export const findPages = <Page>(user: string) => (findPlace(user)?.pages ?? []) as readonly Page[];

/**
 * Restores the place of a page with one table once its rows are shown, and keeps it with `pages` when the user leaves.
 * Example: `usePlace(rows !== undefined)`.
 */
export function usePlace(isShown: boolean, pages: readonly unknown[] = [], user = ''): void {
  const latest = useRef(pages);
  latest.current = pages;
  const tops = useRef<Place['tops']>([0, 0]);
  useEffect(() => {
    const scrolled = () => (tops.current = [findRegion()?.scrollTop ?? 0, scrollY]);
    document.addEventListener('scroll', scrolled, { capture: true, passive: true });
    return () => document.removeEventListener('scroll', scrolled, { capture: true });
  }, []);
  const name = nameOf(user);
  useLayoutEffect(
    () => () => {
      places.delete(name);
      places.set(name, { tops: tops.current, pages: latest.current, openedPath: location.pathname });
      if (places.size > PLACES_MAX) places.delete(places.keys().next().value!);
    },
    [name],
  );
  useLayoutEffect(() => {
    const { tops: kept } = findPlace(user) ?? {};
    if (!isShown || kept === undefined) return;
    findRegion()?.scrollTo(0, kept[0]);
    scrollTo(0, kept[1]);
    tops.current = kept;
  }, [isShown]);
  useEffect(() => {
    // Rows that are there at once take the focus from the heading.
    const { pages: kept = [], openedPath = '' } = findPlace(user) ?? {};
    const opened = kept.length > 0 && findRegion()?.querySelector<HTMLElement>(`a[href="${CSS.escape(openedPath)}"]`);
    if (opened) opened.focus({ preventScroll: true });
  }, []);
}
