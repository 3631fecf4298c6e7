/**
 * Loads the data of a page: `useLoad` runs a loader for a key, keeps its result, and cancels it when the key changes.
 * `useGet` does so for a route of the dashboard. `usePages` loads a list page by page: the first for a key, further
 * ones on demand, each with the `next` of the previous page.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, CHANGED, get, SIGNED_IN, type GetPath, type GetQuery } from './client.ts';

export interface Loaded<T> {
  /** The data, or undefined before the first result. It stays while the same key is loaded again, and offline. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

export const toApiError = (fault: unknown): ApiError =>
  fault instanceof ApiError
    ? fault
    : new ApiError('UNEXPECTED_FAULT', fault instanceof Error ? fault.message : String(fault), 0);

/** Loads everything that the page shows again, as after a change in another tab. */
export const reloadPage = (): void => void dispatchEvent(new Event(CHANGED));

/**
 * Example: `const { data, error, isLoading, reload } = useLoad(code, (signal) => loadRecord('customers', code,
 * signal))`.
 */
export function useLoad<T>(key: string, loader: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError; isDone: boolean }>({
    key,
    isDone: false,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(loader);
  latest.current = loader;
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => (before.key === key ? { ...before, isDone: false } : { key, isDone: false }));
    const keep = (outcome: { data: T } | { error: ApiError }) => {
      if (controller.signal.aborted) return;
      const isOffline = 'error' in outcome && outcome.error.code === 'NETWORK_ERROR';
      setState((before) => ({ ...(isOffline && before), key, ...outcome, isDone: true }));
    };
    latest.current(controller.signal).then(
      (data) => keep({ data }),
      (fault: unknown) => keep({ error: toApiError(fault) }),
    );
    return () => controller.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    addEventListener(CHANGED, reload);
    return () => removeEventListener(CHANGED, reload);
  }, []);
  useEffect(() => {
    if (state.error?.code !== 'NOT_SIGNED_IN') return undefined;
    addEventListener(SIGNED_IN, reload);
    return () => removeEventListener(SIGNED_IN, reload);
  }, [state.error]);
  const mine = state.key === key ? state : { key, isDone: false };
  return { data: mine.data, error: mine.error, isLoading: !mine.isDone, reload };
}

/** Example: `useGet('/usage', { month })`. Another `version` loads the same again, and drops the earlier data. */
export const useGet = <Path extends GetPath>(path: Path, query?: GetQuery<Path>, version?: string) =>
  useLoad(JSON.stringify([path, query, version]), (signal) => get(path, query, signal));

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
