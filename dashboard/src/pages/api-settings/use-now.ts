/** The current time, updated at an interval, for values that depend on it. */
import { useEffect, useState } from 'preact/hooks';

/** Returns the milliseconds since 1970, updated every `everyMs`. Example: `const now = useNow(15_000)`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}
