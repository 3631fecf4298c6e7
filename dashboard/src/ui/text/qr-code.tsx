/**
 * A text as a QR code: one SVG path, dark on light, with the margin that readers need. Its encoder is fetched on first
 * use.
 */
import { useLoad } from '../../api/use-load.ts';
import { LoadError, Skeleton } from '../notice.tsx';

const MARGIN = 4;

/** Runs of dark modules of a row become one rectangle each. */
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
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data: code, error, reload } = useLoad(`qr ${text}`, () => encode(text));
  if (error) return <LoadError error={error} onRetry={reload} />;
  if (!code) return <Skeleton lines={4} />;
  return (
    <svg
      class="qr-code"
      viewBox={`0 0 ${code.size} ${code.size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path d={code.path} />
    </svg>
  );
}
