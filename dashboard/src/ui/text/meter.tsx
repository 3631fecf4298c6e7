/** Bars for shares: the used part of a limit, and shares in the rows of a table. */

/** Returns the share, from 0 to 1, and 0 if the total is 0. */
const shareOf = (part: number, whole: number) => (whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0);

/** Example: `formatShare(3, 1000)` gives `0.3 %`; a share that would round to 0 is `< 0.1 %`. */
export function formatShare(part: number, whole: number): string {
  const percent = shareOf(part, whole) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  return `${percent.toLocaleString(undefined, { maximumFractionDigits: percent > 0 && percent < 10 ? 1 : 0 })} %`;
}

const WIDTH = 1000;
const bar = (share: number, tone: string) => (
  <svg
    class={`meter ${tone}`}
    viewBox={`0 0 ${WIDTH} 10`}
    preserveAspectRatio="none"
    aria-hidden="true"
    focusable="false"
  >
    <rect class="meter-track" width={WIDTH} height="10" />
    <rect class="meter-part" width={share * WIDTH} height="10" />
  </svg>
);

/** Example: `<Meter label="Part of the quota that is used" value={total} max={monthQuota} />`; it warns from 80 %. */
export const Meter = ({ label, value, max }: { label: string; value: number; max: number }) => {
  const share = shareOf(value, max);
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={formatShare(value, max)}
    >
      {bar(share, share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '')}
    </div>
  );
};

/** Example: `<ShareBar part={row.calls} whole={total} />`. */
export const ShareBar = ({ part, whole }: { part: number; whole: number }) => (
  <span class="share">
    {bar(shareOf(part, whole), '')}
    <span>{formatShare(part, whole)}</span>
  </span>
);
