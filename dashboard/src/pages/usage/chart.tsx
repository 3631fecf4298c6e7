/**
 * Calls by day as bars, with failed calls on top of the others. A day shows its figures on hover and focus, and is a
 * link to its requests; arrow keys move between days.
 */
import type { TargetedKeyboardEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';
import { Link, useQuery } from '../../browser/router.tsx';
import { Button } from '../../ui/button.tsx';
import { formatShare } from '../../ui/text/meter.tsx';
import { countDays, formatCount, formatDay, formatMonth, listDays, type Counts } from './daily-counts.ts';
import { TABLES_ID } from './tables.tsx';

/** Maximum number of lines above 0. */
const GRID_LINES = 5;
const DAY_MS = 86_400_000;

/** Returns the round number of calls between two lines: 1, 2, 2.5 or 5 times a power of ten. */
function stepOf(most: number): number {
  const least = Math.max(1, most / GRID_LINES);
  const power = 10 ** Math.floor(Math.log10(least));
  return (
    [1, 2, 2.5, 5].map((factor) => factor * power).find((step) => step >= least && Number.isInteger(step)) ?? 10 * power
  );
}

const formatTick = (count: number) =>
  count >= 10_000
    ? count.toLocaleString(undefined, { notation: 'compact', maximumFractionDigits: 1 })
    : formatCount(count);
const percent = (part: number, whole: number) => `${(part / whole) * 100}%`;

export function UsageChart({ view, days }: { view: UsageView; days: number }) {
  const [, setQuery] = useQuery();
  const showTable = () => {
    setQuery({ by: 'day', sort: null }, { replace: true });
    const tables = document.getElementById(TABLES_ID);
    tables?.scrollIntoView({ block: 'start' });
    tables?.querySelector<HTMLElement>('[role=tab]:last-child')?.focus({ preventScroll: true });
  };
  return (
    <figure class="card chart" aria-label={`Calls by day, ${formatMonth(view.month)}`}>
      <figcaption class="chart-head">
        <h2>Calls by day</h2>
        <ul class="chart-legend">
          <li>Succeeded</li>
          <li class="failed">Failed</li>
        </ul>
        <Button size="small" tone="quiet" onClick={showTable}>
          Show as table
        </Button>
      </figcaption>
      <Bars counts={listDays(view, days)} slots={countDays(view.month)} />
    </figure>
  );
}

function Bars({ counts, slots }: { counts: readonly Counts[]; slots: number }) {
  const [shown, setShown] = useState<number>();
  const [reached, setReached] = useState(counts.length - 1);
  const most = Math.max(...counts.map(({ calls }) => calls));
  const step = stepOf(most);
  const top = Math.max(1, Math.ceil(most / step)) * step;
  const ticks = Array.from({ length: top / step + 1 }, (_, index) => index * step);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const last = counts.length - 1;
    const targets: Record<string, number> = { ArrowRight: reached + 1, ArrowLeft: reached - 1, Home: 0, End: last };
    const target = targets[event.key];
    if (event.key === 'Escape') setShown(undefined);
    if (target === undefined) return;
    event.preventDefault();
    const all = event.currentTarget.querySelectorAll<HTMLElement>('.chart-day');
    all[Math.min(last, Math.max(0, target))]?.focus();
  };
  return (
    <div
      class="chart-plot"
      role="group"
      aria-label="Days; move between them with the arrow keys"
      onKeyDown={move}
      onPointerLeave={() => setShown(undefined)}
    >
      {ticks.map((tick) => (
        <span key={tick} class="chart-line" style={{ bottom: percent(tick, top) }} aria-hidden="true">
          {formatTick(tick)}
        </span>
      ))}
      {Array.from({ length: slots }, (_, index) => {
        const day = counts[index];
        return (
          <div
            key={index}
            class="chart-slot"
            onFocusCapture={() => {
              setShown(index);
              setReached(index);
            }}
            onBlurCapture={() => setShown(undefined)}
            onPointerEnter={() => setShown(index)}
          >
            {day && (
              <Link
                to={toRequests(day.name)}
                class="chart-day"
                aria-label={labelOf(day)}
                tabIndex={index === reached ? 0 : -1}
              >
                <Bar part={day.refused} top={top} tone="failed" />
                <Bar part={day.calls - day.refused} top={top} tone="" />
              </Link>
            )}
            {index === shown && day && <Tip day={day} isLeft={index > slots / 2} />}
            <span class="chart-date" aria-hidden="true">
              {index + 1}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** Returns the page with the requests of a day (UTC): `toRequests('2026-11-20')`. */
const toRequests = (day: string) => {
  const [from, to] = [0, DAY_MS].map((ms) => new Date(Date.parse(`${day}T00:00:00Z`) + ms).toISOString());
  return `/requests?${new URLSearchParams({ range: 'custom', from: from!, to: to! }).toString()}`;
};

const labelOf = ({ name, calls, refused }: Counts) =>
  `${formatDay(name)}: ${formatCount(calls)} calls, ${formatCount(refused)} failed`;

const Bar = ({ part, top, tone }: { part: number; top: number; tone: string }) =>
  part === 0 ? null : <span class={`chart-bar ${tone}`} style={{ height: percent(part, top) }} />;

const Tip = ({ day: { name, calls, refused }, isLeft }: { day: Counts; isLeft: boolean }) => (
  <dl class={isLeft ? 'chart-tip left' : 'chart-tip'} aria-hidden="true">
    <dt>{formatDay(name)}</dt>
    <dd>{formatCount(calls)}</dd>
    <dt>Succeeded</dt>
    <dd>{formatCount(calls - refused)}</dd>
    <dt>Failed</dt>
    <dd>{refused === 0 ? '0' : `${formatCount(refused)} (${formatShare(refused, calls)})`}</dd>
  </dl>
);
