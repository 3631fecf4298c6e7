/** Says on every page that the quota of the month is nearly or completely used up, and when the count begins again. */
import { useEffect } from 'preact/hooks';
import { useLocation } from '../browser/router.tsx';
import { useSession } from '../api/session.tsx';
import { Notice } from '../ui/page.tsx';

const WARNED_FROM = 0.8;
const REFRESH_MS = 60_000;
let loadedAt = Date.now();

export function QuotaBanner() {
  const { monthCalls, monthQuota, reload } = useSession();
  const { path } = useLocation();
  useEffect(() => {
    // The session knows the calls of the month. It is loaded again with a page, at most once a minute.
    if (monthQuota === null || Date.now() - loadedAt < REFRESH_MS) return;
    loadedAt = Date.now();
    void reload();
  }, [path]);
  if (monthQuota === null || monthCalls < monthQuota * WARNED_FROM) return null;
  const now = new Date();
  const begins = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  const day = begins.toLocaleDateString(undefined, { day: 'numeric', month: 'long', timeZone: 'UTC' });
  const used = `${monthCalls.toLocaleString()} of ${monthQuota.toLocaleString()} calls have been used this month.`;
  return monthCalls >= monthQuota ? (
    <Notice tone="bad" title={used}>
      API calls are rejected until {day}, 00:00 UTC.
    </Notice>
  ) : (
    <Notice tone="warn" title={used}>
      The count starts again on {day}, 00:00 UTC.
    </Notice>
  );
}
