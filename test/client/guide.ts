/** Reads the section "Retrying a call" of docs/api-reference.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const GUIDE = join(import.meta.dirname, '../../docs/api-reference.md');

/** Returns the codes after which a call may be repeated, besides every 5xx. */
export function repeatedCodes(): ReadonlySet<string> {
  const table = readFileSync(GUIDE, 'utf8').split('\n## Retrying a call\n')[1]!.split('\n## ')[0]!;
  const rows = [...table.matchAll(/^\| [^|]+ \| yes \|.*$/gm)];
  return new Set(rows.flatMap(([row]) => [...row.split(' | ')[0]!.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code!)));
}
