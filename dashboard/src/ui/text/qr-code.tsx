/**
 * A text as a QR code: one SVG path, dark on light, with the margin that readers need. Its encoder is fetched on first
 * use.
 */
import { useLoad } from '../../api/use-load.ts';
import { WhenLoaded } from '../page.tsx';

const MARGIN = 4;

/** Returns a path with one rectangle for each run of dark modules in a row. */
function drawPath(modules: readonly (readonly boolean[])[]): string {
  let path = '';
  for (const [y, row] of modules.entries())
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      const start = x;
      while (row[x + 1]) x++;
      path += `M${start} ${y}h${x - start + 1}v1H${start}z`;
    }
  return path;
}

async function encode(text: string) {
  const uqr = await import('uqr');
  const { data, size } = uqr.encode(text, { ecc: 'M', border: MARGIN });
  return { path: drawPath(data), size };
}

/** Example: `<QrCode text={factor.uri} label="QR code for the authenticator app" />`. */
export const QrCode = ({ text, label }: { text: string; label: string }) => (
  <WhenLoaded from={useLoad(`qr ${text}`, () => encode(text))} lines={4}>
    {({ path, size }) => (
      <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
        <path d={path} />
      </svg>
    )}
  </WhenLoaded>
);
