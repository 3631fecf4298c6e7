/**
 * Loads the data of a page: `useLoad` runs a loader for a key, keeps its result, and cancels it when the key changes.
 * `useGet` does so for a route of the dashboard.
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

/** Returns a thrown value as an ApiError. */
export const toApiError = (fault: unknown): ApiError =>
  fault instanceof ApiError
    ? fault
    : new ApiError('UNEXPECTED_FAULT', fault instanceof Error ? fault.message : String(fault), 0);

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

/** Example: `useGet('/usage', { month })`. Another `round` loads the same again, without the data of the one before. */
export const useGet = <Path extends GetPath>(path: Path, query?: GetQuery<Path>, round?: number | string) =>
  useLoad(JSON.stringify([path, query, round]), (signal) => get(path, query, signal));
