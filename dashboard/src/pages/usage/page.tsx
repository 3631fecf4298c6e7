/**
 * The metered calls of a month: figures, a chart by day, tables, and a CSV download. Months and days are UTC, as
 * metered.
 */
import { useRef } from 'preact/hooks';
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';
import { get } from '../../api/client.ts';
import { downloadFile, formatCSV } from './csv.ts';
import { useLoad } from '../../api/use-load.ts';
import { useQuery } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/form/field.tsx';
import { formatShare, Meter } from '../../ui/text/meter.tsx';
import { LoadError, Skeleton } from '../../ui/notice.tsx';
import { Card, Columns, Figure, Page } from '../../ui/page.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { UsageChart } from './chart.tsx';
import { countDays, formatCount, formatMonth, isMonth } from './daily-counts.ts';
import { UsageTables } from './tables.tsx';

export function UsagePage() {
  const [query, setQuery] = useQuery();
  const { tenant } = useSession();
  const thisMonth = new Date().toISOString().slice(0, 7);
  const asked = query.get('month') ?? '';
  const month = isMonth(asked) ? asked : thisMonth;
  const { data, error, isLoading, reload } = useLoad(`usage ${month}`, (signal) => get('/usage', { month }, signal));
  const known = useRef<string[]>([]);
  if (data !== undefined) known.current = data.months.map((one) => one.month);
  const months = [...new Set([thisMonth, month, ...known.current])].toSorted().toReversed();
  const download = (view: UsageView) => {
    const rows = view.rows.map(({ day, operation, calls, refused }) => [day, operation, calls, refused]);
    downloadFile(
      `storeroom-usage-${tenant.teamID}-${view.month}.csv`,
      'text/csv;charset=utf-8',
      formatCSV(['day', 'operation', 'calls', 'refused'], rows),
    );
  };
  const actions = (
    <>
      <Select
        label="Month (UTC)"
        name="month"
        isLabelHidden
        value={month}
        onValue={(chosen) => setQuery({ month: chosen === thisMonth ? null : chosen })}
        options={months.map((one) => ({
          value: one,
          label: one === thisMonth ? `${formatMonth(one)} · this month` : formatMonth(one),
        }))}
      />
      <Button icon="reload" isBusy={isLoading && data !== undefined} onClick={reload}>
        Refresh
      </Button>
      <Button
        icon="download"
        disabled={data === undefined || data.rows.length === 0}
        onClick={() => data && download(data)}
      >
        Download CSV
      </Button>
    </>
  );
  return (
    <Page
      title="Usage"
      description="Calls of the API and the explorer, each stored before its answer leaves. Months and days are UTC."
      actions={actions}
    >
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data !== undefined && <Month view={data} isThisMonth={month === thisMonth} />}
      {data === undefined && error === undefined && (
        <Card>
          <Skeleton lines={8} />
        </Card>
      )}
    </Page>
  );
}

function Month({ view, isThisMonth }: { view: UsageView; isThisMonth: boolean }) {
  const days = isThisMonth ? new Date().getUTCDate() : countDays(view.month);
  return (
    <>
      <Figures view={view} days={days} isThisMonth={isThisMonth} />
      <UsageChart view={view} days={days} />
      <UsageTables view={view} />
    </>
  );
}

function Figures({ view, days, isThisMonth }: { view: UsageView; days: number; isThisMonth: boolean }) {
  const { total, refused } = view;
  // What the quota was in a month that is over is not kept.
  const monthQuota = isThisMonth ? view.monthQuota : null;
  const quota =
    monthQuota === null
      ? isThisMonth
        ? 'No limit'
        : 'The month is over'
      : `${formatShare(total, monthQuota)} of ${formatCount(monthQuota)}`;
  const average = total / Math.max(1, days);
  return (
    <Columns>
      <Figure
        label={isThisMonth ? 'Calls this month' : `Calls in ${formatMonth(view.month)}`}
        value={formatCount(total)}
        note={
          <>
            {quota}
            {monthQuota !== null && (
              <Meter label="Part of the monthly quota that is used" value={total} max={monthQuota} />
            )}
            <span class="figure-source">
              The figure of <code>storeroom usage</code>
            </span>
          </>
        }
      />
      <Figure
        label="Answered"
        value={formatCount(total - refused)}
        note={`${formatShare(total - refused, total)} of the calls`}
      />
      <Figure label="Refused" value={formatCount(refused)} note={`${formatShare(refused, total)} of the calls`} />
      <Figure
        label="Day average"
        value={average.toLocaleString('en', { maximumFractionDigits: average < 10 ? 1 : 0 })}
        note={isThisMonth ? `Over ${countOf(days, 'day')} so far` : `Over ${days} days`}
      />
    </Columns>
  );
}
