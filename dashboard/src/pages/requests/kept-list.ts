/**
 * Keeps the list of requests in memory for Back: its pages, its scroll position and the request that was opened, for
 * each entry of the browser's history.
 */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { RequestsView } from '../../../../src/http/dashboard/interface.ts';
import { findRegion, useScrollNote } from '../../ui/table/place.ts';

interface KeptList {
  readonly key: string;
  readonly pages: readonly RequestsView[];
  readonly tops: readonly [region: number, page: number];
  readonly openedPath: string;
}
const KEPT_MAX = 8;
const kept = new Map<number, KeptList>();
let count = 0;

const parseMark = (): number | undefined => (history.state as { requestList?: number } | null)?.requestList;

/** Returns the list kept for the current history entry; undefined unless it was left with this key. */
export function findKept(key: string): KeptList | undefined {
  const found = kept.get(parseMark() ?? 0);
  return found?.key === key ? found : undefined;
}

/**
 * Marks the history entry, restores the scroll position and the focus, and keeps the list when the user leaves it. A
 * change of `search`, the query string, replaces the entry, which is then marked again.
 */
export function useKeeping(
  key: string,
  search: string,
  pages: readonly RequestsView[],
  before: KeptList | undefined,
): void {
  const latest = useRef(pages);
  latest.current = pages;
  const tops = useRef<[number, number]>([0, 0]);
  useScrollNote((...place) => (tops.current = place));
  useLayoutEffect(() => {
    const mark = parseMark() ?? ++count;
    history.replaceState({ requestList: mark }, '');
    return () => {
      if (latest.current.length === 0) return;
      kept.delete(mark);
      kept.set(mark, { key, pages: latest.current, tops: tops.current, openedPath: location.pathname });
      if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
    };
  }, [key, search]);
  useEffect(() => {
    if (before === undefined) return;
    const region = findRegion();
    if (region) region.scrollTop = before.tops[0];
    scrollTo(0, before.tops[1]);
    tops.current = [...before.tops];
    region?.querySelector<HTMLElement>(`a[href="${CSS.escape(before.openedPath)}"]`)?.focus({ preventScroll: true });
  }, []);
}
