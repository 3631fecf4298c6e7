/**
 * Names a user agent in a few words, such as `Firefox 145 on Windows`, so that people recognise their devices.
 */
const BROWSERS: readonly [RegExp, string][] = [
  [/\b(?:Edg|EdgA|EdgiOS)\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\bSamsungBrowser\/(\d+)/, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'],
  [/(?:Chrome|CriOS)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)\S* (?:Mobile\/\S+ )?Safari\//, 'Safari'],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];
const CHARACTERS_MAX = 40;

/** Example: `nameBrowser(navigator.userAgent)`. The name of an unknown program is its user agent, cut. */
export function nameBrowser(agent: string): string {
  const system = SYSTEMS.find(([form]) => form.test(agent))?.[1];
  for (const [form, name] of BROWSERS) {
    const version = form.exec(agent)?.[1];
    if (version !== undefined) return `${name} ${version}${system === undefined ? '' : ` on ${system}`}`;
  }
  if (agent === '') return 'Unknown';
  return agent.length > CHARACTERS_MAX ? `${agent.slice(0, CHARACTERS_MAX)}…` : agent;
}
