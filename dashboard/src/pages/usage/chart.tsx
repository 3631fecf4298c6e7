/**
 * Calls by day as bars, answered below refused, drawn in device-independent pixels so that labels stay readable. A day
 * shows its figures on hover and focus; arrow keys move between days.
 */
import type { TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';
import { useQuery } from '../../router.tsx';
import { Button } from '../../ui/button.tsx';
import { formatShare } from '../../ui/text/meter.tsx';
import { countDays, formatCount, formatDay, formatMonth, listDays, type Counts } from './daily-counts.ts';
import { TABLES_ID } from './tables.tsx';

const HEIGHT = 240;
const [TOP, BOTTOM] = [14, 26];
const FLOOR = HEIGHT - BOTTOM;
/** Maximum number of lines above the floor. */
const GRID_LINES = 5;
const RIGHT = 4;
/** Width of a character of the labels, about. */
const CHARACTER = 6.6;
const LABEL_WIDTH = 26;
const TIP = { width: 172, height: 62 };

/** The round number of calls between two lines: 1, 2, 2.5 or 5 times a power of ten. */
function stepOf(most: number): number {
  const least = Math.max(1, most / GRID_LINES);
  const power = 10 ** Math.floor(Math.log10(least));
  return (
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= least && Number.isInteger(step)) ??
    10 * power
  );
}

const formatTick = (count: number): string =>
  count >= 10_000 ? count.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 }) : formatCount(count);

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(box.current!);
    setWidth(Math.floor(box.current!.getBoundingClientRect().width));
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

export function UsageChart({ view, days }: { view: UsageView; days: number }) {
  const [, setQuery] = useQuery();
  const { box, width } = useWidth();
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
          <li class="answered">Answered</li>
          <li class="refused">Refused</li>
        </ul>
        <Button size="small" tone="quiet" onClick={showTable}>
          Show as table
        </Button>
      </figcaption>
      <div ref={box} class="chart-box">
        {width > 0 && <Bars counts={listDays(view, days)} slots={countDays(view.month)} width={width} />}
      </div>
    </figure>
  );
}

function Bars({ counts, slots, width }: { counts: readonly Counts[]; slots: number; width: number }) {
  const [shown, setShown] = useState<number>();
  const [reached, setReached] = useState(counts.length - 1);
  const svg = useRef<SVGSVGElement>(null);
  const most = Math.max(...counts.map(({ calls }) => calls));
  const step = stepOf(most);
  const lines = Math.max(1, Math.ceil(most / step));
  const ticks = Array.from({ length: lines + 1 }, (_, index) => index * step);
  const left = Math.max(...ticks.map((tick) => formatTick(tick).length)) * CHARACTER + 10;
  const slot = (width - left - RIGHT) / slots;
  const yOf = (calls: number): number => FLOOR - (calls / (step * lines)) * (FLOOR - TOP);
  const labelEvery = [1, 2, 5, 7].find((every) => slot * every >= LABEL_WIDTH) ?? 7;
  const move = (event: TargetedKeyboardEvent<SVGSVGElement>) => {
    const last = counts.length - 1;
    const targets: Record<string, number> = { ArrowRight: reached + 1, ArrowLeft: reached - 1, Home: 0, End: last };
    const target = targets[event.key];
    if (event.key === 'Escape') setShown(undefined);
    if (target === undefined) return;
    event.preventDefault();
    svg.current?.querySelectorAll<SVGGElement>('.chart-day')[Math.min(last, Math.max(0, target))]?.focus();
  };
  return (
    <svg
      ref={svg}
      class="chart-svg"
      width={width}
      height={HEIGHT}
      role="group"
      aria-label="Days; the arrow keys go from one to the next"
      onKeyDown={move}
      onPointerLeave={() => setShown(undefined)}
    >
      <g aria-hidden="true">
        {ticks.map((tick) => (
          <g key={tick}>
            <line
              class={tick === 0 ? 'chart-floor' : 'chart-line'}
              x1={left}
              x2={width}
              y1={Math.round(yOf(tick)) + 0.5}
              y2={Math.round(yOf(tick)) + 0.5}
            />
            <text class="chart-label end" x={left - 8} y={yOf(tick) + 4}>
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {Array.from({ length: slots }, (_, index) => index)
          .filter((index) => index % labelEvery === 0)
          .map((index) => (
            <text key={index} class="chart-label middle" x={left + (index + 0.5) * slot} y={HEIGHT - 6}>
              {index + 1}
            </text>
          ))}
      </g>
      {counts.map((day, index) => (
        <Day
          key={day.name}
          day={day}
          x={left + index * slot}
          slot={slot}
          yOf={yOf}
          isReached={index === reached}
          isShown={index === shown}
          onShow={(isShown) => setShown(isShown ? index : undefined)}
          onReach={() => setReached(index)}
        />
      ))}
      {shown !== undefined && counts[shown] !== undefined && (
        <Tip day={counts[shown]} middle={left + (shown + 0.5) * slot} width={width} top={yOf(counts[shown].calls)} />
      )}
    </svg>
  );
}

interface DayProps {
  day: Counts;
  x: number;
  slot: number;
  yOf: (calls: number) => number;
  isReached: boolean;
  isShown: boolean;
  onShow: (isShown: boolean) => void;
  onReach: () => void;
}
function Day({ day, x, slot, yOf, isReached, isShown, onShow, onReach }: DayProps) {
  const { name, calls, refused } = day;
  const gap = Math.min(4, slot * 0.2);
  const at = { x: x + gap / 2, width: Math.max(1, Math.min(slot - gap, 36)) };
  if (slot - gap > 36) at.x = x + (slot - 36) / 2;
  // What is there shows, however little it is beside the rest.
  const heightOf = (count: number): number => (count === 0 ? 0 : Math.max(2, FLOOR - yOf(count)));
  const answeredHeight = heightOf(calls - refused);
  const refusedHeight = heightOf(refused);
  const focus = () => {
    onShow(true);
    onReach();
  };
  return (
    <g
      class={isShown ? 'chart-day shown' : 'chart-day'}
      role="img"
      aria-label={`${formatDay(name)}: ${formatCount(calls)} calls, ${formatCount(refused)} refused`}
      tabIndex={isReached ? 0 : -1}
      onFocus={focus}
      onBlur={() => onShow(false)}
      onPointerEnter={() => onShow(true)}
    >
      <rect class="chart-band" x={x} y={TOP} width={slot} height={FLOOR - TOP} rx="3" />
      <rect class="chart-answered" {...at} y={FLOOR - answeredHeight} height={answeredHeight} />
      <rect class="chart-refused" {...at} y={FLOOR - answeredHeight - refusedHeight} height={refusedHeight} />
    </g>
  );
}

function Tip({ day, middle, width, top }: { day: Counts; middle: number; width: number; top: number }) {
  const { name, calls, refused } = day;
  const isRight = middle + 12 + TIP.width > width;
  const x = Math.max(0, isRight ? middle - 12 - TIP.width : middle + 12);
  const y = Math.min(FLOOR - TIP.height - 4, Math.max(2, top - TIP.height / 2));
  const lines: [string, string][] = [
    ['Answered', formatCount(calls - refused)],
    ['Refused', refused === 0 ? '0' : `${formatCount(refused)} (${formatShare(refused, calls)})`],
  ];
  return (
    <g class="chart-tip" transform={`translate(${Math.round(x)} ${Math.round(y)})`} aria-hidden="true">
      <rect {...TIP} rx="6" />
      <text class="chart-tip-title" x="10" y="18">
        {formatDay(name)}
      </text>
      <text class="chart-tip-title end" x={TIP.width - 10} y="18">
        {formatCount(calls)}
      </text>
      {lines.map(([label, value], index) => (
        <g key={label} transform={`translate(0 ${36 + index * 17})`}>
          <text x="10">{label}</text>
          <text class="end" x={TIP.width - 10}>
            {value}
          </text>
        </g>
      ))}
    </g>
  );
}
