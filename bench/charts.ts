/**
 * Charts as SVG, without a library: bars on a logarithmic scale, and lines over a logarithmic scale.
 */

const COLOURS = ['#1d4ed8', '#b45309', '#047857', '#9d174d', '#6d28d9', '#475569', '#0e7490', '#a16207'];
const WIDTH = 720;
const FONT = 'font-family="system-ui, sans-serif" font-size="12"';

interface BarGroup {
  readonly name: string;
  readonly bars: readonly { readonly name: string; readonly value: number }[];
}

interface Line {
  readonly name: string;
  readonly points: readonly { readonly orders: number; readonly value: number }[];
}

const colourOf = (index: number): string => COLOURS[index % COLOURS.length]!;
const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="#111827" ${more}>${words}</text>`;

function frame(title: string, height: number, parts: readonly string[]): string {
  const opening = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ${FONT} role="img" aria-label="${title}">`;
  const ground = `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`;
  return `${[opening, ground, text(16, 24, title, 'font-weight="600"'), ...parts, '</svg>'].join('\n')}\n`;
}

/** A colour and a name for each series, in a line. */
const legend = (names: readonly string[], y: number): string[] =>
  names.map((name, index) => {
    const x = 16 + index * 132;
    return `<rect x="${x}" y="${y - 9}" width="10" height="10" fill="${colourOf(index)}"/>${text(x + 15, y, name)}`;
  });

/** Groups of bars; each tick of the scale is ten times the one before. */
export function drawBars(title: string, groups: readonly BarGroup[]): string {
  const [left, barHeight, gap, top] = [48, 14, 14, 64];
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value));
  const least = Math.floor(Math.log10(Math.min(...values)));
  const scale = (WIDTH - left - 80) / (Math.log10(Math.max(...values)) - least);
  let y = top;
  const parts: string[] = [];
  for (const { name, bars } of groups) {
    parts.push(text(16, y + (bars.length * barHeight) / 2 + 4, name, 'font-weight="600"'));
    for (const bar of bars) {
      const width = (Math.log10(bar.value) - least) * scale;
      const box = `x="${left}" y="${y}" width="${width.toFixed(1)}" height="${barHeight - 2}"`;
      parts.push(`<rect ${box} fill="${colourOf(names.indexOf(bar.name))}"/>`);
      parts.push(text(left + width + 6, y + 10, Math.round(bar.value).toLocaleString('en')));
      y += barHeight;
    }
    y += gap;
  }
  return frame(`${title} (logarithmic scale)`, y + 8, [...legend(names, 46), ...parts]);
}

/** Each line beside its own value at the first point, which is 1. */
export function drawLines(title: string, lines: readonly Line[]): string {
  const [left, right, top, bottom, height] = [48, 96, 48, 32, 360];
  const drawn = lines.filter(({ points }) => points.length > 1);
  const counts = [...new Set(drawn.flatMap(({ points }) => points.map(({ orders }) => orders)))].toSorted(
    (a, b) => a - b,
  );
  const span = Math.log10(counts.at(-1) ?? 10) - Math.log10(counts[0] ?? 1);
  const xOf = (orders: number): number =>
    left + ((Math.log10(orders) - Math.log10(counts[0] ?? 1)) / (span || 1)) * (WIDTH - left - right);
  const most = 1.25;
  const yOf = (share: number): number => top + (1 - Math.min(share, most) / most) * (height - top - bottom);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = yOf(share).toFixed(1);
    const rule = `<line x1="${left}" x2="${WIDTH - right}" y1="${y}" y2="${y}" stroke="#d1d5db"/>`;
    return `${rule}${text(12, yOf(share) + 4, share.toFixed(2))}`;
  });
  const ticks = counts.map((orders) =>
    text(xOf(orders), height - 10, orders.toLocaleString('en'), 'text-anchor="middle"'),
  );
  const paths = drawn.flatMap(({ name, points }, index) => {
    const shares = points.map(({ orders, value }) => [xOf(orders), yOf(value / points[0]!.value)] as const);
    const path = shares.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
    const [x] = shares.at(-1)!;
    return [
      `<polyline points="${path}" fill="none" stroke="${colourOf(index)}" stroke-width="2"/>`,
      `<line x1="${x + 8}" x2="${x + 24}" y1="${top + 20 + index * 18}" y2="${top + 20 + index * 18}" stroke="${colourOf(index)}" stroke-width="3"/>`,
      text(x + 30, top + 24 + index * 18, name),
    ];
  });
  return frame(`${title}; 1 is that of the fewest`, height, [...grid, ...ticks, ...paths]);
}
