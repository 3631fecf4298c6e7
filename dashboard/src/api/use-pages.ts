/**
 * Loads a list page by page: the first for a key, further ones on demand, each with the `next` of the previous page.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './client.ts';
import { toApiError } from './use-load.ts';

interface PagesState<Page> {
  readonly key: string;
  readonly pages: readonly Page[];
  readonly error?: ApiError | undefined;
  readonly isLoading: boolean;
}
interface LoadedPages<Page> {
  /** The pages, empty before the first one. */
  readonly pages: readonly Page[];
  /** Error of the last try. The earlier pages stay. */
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Loads the next page. Undefined on the last page. */
  readonly more: (() => void) | undefined;
  readonly reload: () => void;
  readonly setPages: (change: (before: readonly Page[]) => readonly Page[]) => void;
}

/**
 * Example: `usePages('audit', (next, signal) => get('/audit', { before: next }, signal))`. `kept` are pages from an
 * earlier visit, which are shown instead of loading.
 */
export function usePages<Next extends string | number, Page extends { readonly next: Next | null }>(
  key: string,
  loader: (next: Next | undefined, signal: AbortSignal) => Promise<Page>,
  kept: readonly Page[] = [],
): LoadedPages<Page> {
  const [state, setState] = useState<PagesState<Page>>({ key, pages: kept, isLoading: kept.length === 0 });
  const running = useRef<AbortController>(undefined);
  const latest = useRef(loader);
  latest.current = loader;

  const load = (before: readonly Page[]) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setState((now) => ({ key, pages: now.key === key ? now.pages : [], isLoading: true }));
    const end = (change: (now: readonly Page[]) => readonly Page[], error?: ApiError) => {
      if (controller.signal.aborted) return;
      running.current = undefined;
      setState((now) => ({ key, pages: change(now.pages), error, isLoading: false }));
    };
    latest.current(before.at(-1)?.next ?? undefined, controller.signal).then(
      (page) => end((now) => (before.length === 0 ? [page] : [...now, page])),
      (fault: unknown) => end((now) => now, toApiError(fault)),
    );
  };
  useEffect(() => {
    if (kept.length === 0 || state.key !== key) load([]);
    return () => running.current?.abort();
  }, [key]);

  const mine: PagesState<Page> = state.key === key ? state : { key, pages: [], isLoading: true };
  const isFurther = mine.pages.length > 0 && mine.pages.at(-1)!.next !== null;
  return {
    pages: mine.pages,
    error: mine.error,
    isLoading: mine.isLoading,
    more: isFurther ? () => running.current ?? load(mine.pages) : undefined,
    reload: () => load([]),
    setPages: (change) => setState((now) => (now.key === key ? { ...now, pages: change(now.pages) } : now)),
  };
}
