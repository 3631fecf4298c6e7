/**
 * The metered calls of a month: figures, a chart by day, tables, and a CSV download. Months and days are UTC. Begin
 * here.
 */
import { useRef } from 'preact/hooks';
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';
import { downloadCSV } from '../../browser/download.ts';
import { useGet } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Button, Refresh } from '../../ui/button.tsx';
import { Select } from '../../ui/form/field.tsx';
import { formatShare, Meter } from '../../ui/text/meter.tsx';
import { Columns, Figure, Page, WhenLoaded } from '../../ui/page.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { UsageChart } from './chart.tsx';
import { countDays, formatCount, formatDay, formatMonth, isMonth } from './daily-counts.ts';
import { UsageTables } from './tables.tsx';

export default function UsagePage() {
  const [query, setQuery] = useQuery();
  const { tenant } = useSession();
  const thisMonth = new Date().toISOString().slice(0, 7);
  const asked = query.get('month') ?? '';
  const month = isMonth(asked) ? asked : thisMonth;
  const usage = useGet('/usage', { month });
  const { data, isLoading, reload } = usage;
  const known = useRef<string[]>([]);
  if (data !== undefined) known.current = data.months.map((one) => one.month);
  const months = [...new Set([thisMonth, month, ...known.current])].toSorted().toReversed();
  const download = (view: UsageView) => {
    const rows = view.rows.map(({ day, operation, calls, refused }) => [day, operation, calls, refused]);
    downloadCSV(`storeroom-usage-${tenant.teamID}-${view.month}.csv`, ['day', 'operation', 'calls', 'refused'], rows);
  };
  const actions = (
    <>
      <Select
        label="Month (UTC)"
        name="month"
        isLabelHidden
        value={month}
        onValue={(chosen) => setQuery({ month: chosen === thisMonth ? null : chosen })}
        options={months.map((one) => [one, one === thisMonth ? `${formatMonth(one)} · this month` : formatMonth(one)])}
      />
      <Refresh isBusy={isLoading && data !== undefined} onClick={reload} />
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
      description="The page counts the calls of the API and of the explorer. Months and days are in UTC."
      actions={actions}
    >
      <WhenLoaded from={usage} lines={8}>
        {(view) => <Month view={view} isThisMonth={month === thisMonth} />}
      </WhenLoaded>
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
  const { total, refused, rows } = view;
  // The service does not keep the quota of earlier months.
  const monthQuota = isThisMonth ? view.monthQuota : null;
  const firstDay = Math.min(days, ...rows.map(({ day }) => Number(day.slice(8))));
  const average = total / (days - firstDay + 1);
  return (
    <Columns>
      <Figure
        label={isThisMonth ? 'Calls this month' : `Calls in ${formatMonth(view.month)}`}
        value={formatCount(total)}
        note={monthQuota === null ? isThisMonth && 'No limit' : <Quota total={total} monthQuota={monthQuota} />}
      />
      <Figure
        label="Succeeded"
        value={formatCount(total - refused)}
        note={`${formatShare(total - refused, total)} of the calls`}
      />
      <Figure label="Failed" value={formatCount(refused)} note={`${formatShare(refused, total)} of the calls`} />
      <Figure
        label="Calls per day"
        value={average.toLocaleString(undefined, { maximumFractionDigits: average < 10 ? 1 : 0 })}
        note={`Average of ${countOf(days - firstDay + 1, 'day')}`}
      />
    </Columns>
  );
}

function Quota({ total, monthQuota }: { total: number; monthQuota: number }) {
  const now = new Date();
  const reset = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString().slice(0, 10);
  return (
    <>
      {total < monthQuota
        ? `${formatShare(total, monthQuota)} of ${formatCount(monthQuota)}`
        : `The limit of ${formatCount(monthQuota)} calls is reached. Calls are rejected until ${formatDay(reset)}, 00:00 UTC.`}
      <Meter label="Share of the monthly quota" value={total} max={monthQuota} />
    </>
  );
}
