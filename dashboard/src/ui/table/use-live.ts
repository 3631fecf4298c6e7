/**
 * Follows a list: loads new items each second while the tab is visible, and announces them every few seconds.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { countOf } from '../text/text.tsx';
import { announce } from '../toaster.tsx';

const POLL_MS = 1000;
const RETRY_MS = 5000;
const SAY_MS = 8000;
const MARKED_MS = 2500;

/**
 * Calls `look`, which loads or awaits new items and returns their IDs. Announces the items as `noun`. Another `key` is
 * another list.
 */
export function useLive(isLive: boolean, look: (signal: AbortSignal) => Promise<string[]>, noun = 'request', key = '') {
  /** IDs of rows that have just arrived. */
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  /** The fault of the last attempt. The next attempt follows anyway. */
  const [error, setError] = useState<ApiError>();
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isLive) return undefined;
    const controller = new AbortController();
    let timer = 0;
    let unmarkTimer = 0;
    let unsaid = 0;
    let saidAt = 0;
    let isLooking = false;
    const take = (added: string[]) => {
      setError(undefined);
      unsaid += added.length;
      if (added.length > 0) {
        setMarked(new Set(added));
        clearTimeout(unmarkTimer);
        unmarkTimer = window.setTimeout(() => setMarked(new Set()), MARKED_MS);
      }
      if (unsaid === 0 || Date.now() - saidAt < SAY_MS) return;
      announce(countOf(unsaid, `new ${noun}`));
      saidAt = Date.now();
      unsaid = 0;
    };
    const tick = async () => {
      clearTimeout(timer);
      if (document.hidden || isLooking) return;
      isLooking = true;
      let waitMs = POLL_MS;
      try {
        const added = await latest.current(controller.signal);
        if (!controller.signal.aborted) take(added);
      } catch (fault) {
        waitMs = RETRY_MS;
        if (!controller.signal.aborted) setError(toApiError(fault));
      }
      isLooking = false;
      if (!controller.signal.aborted) timer = window.setTimeout(() => void tick(), waitMs);
    };
    const wake = () => void tick();
    document.addEventListener('visibilitychange', wake);
    timer = window.setTimeout(wake, POLL_MS);
    return () => {
      controller.abort();
      document.removeEventListener('visibilitychange', wake);
      clearTimeout(timer);
      clearTimeout(unmarkTimer);
      setMarked(new Set());
      setError(undefined);
    };
  }, [isLive, key]);
  return { marked, error };
}
