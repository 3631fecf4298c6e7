/**
 * The present time for what a page reckons from it, such as how long a key is still good. Kept up as time goes by;
 * decides nothing: the clock of the service may differ.
 */
import { useEffect, useState } from 'preact/hooks';

/** Milliseconds since 1970, anew every so many. Example: `const now = useNow(15_000)`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}
