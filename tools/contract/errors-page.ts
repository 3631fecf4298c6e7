/** The page `/docs/errors`: every code of a response, at the anchor that an error's `docs` names. It has no script. */
import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorPlace } from '../../src/errors.ts';

/** Texts for the table of errors: the requests that can get an error. */
const PLACES: Record<ErrorPlace, string> = {
  any: 'any request',
  operation: 'operations',
  get: 'GET',
  read: 'reads',
  single: 'single record',
  query: 'query',
  changes: 'changes',
  write: 'write',
  batch: 'batch',
  body: 'with a body',
  fields: 'single record, query, write, batch',
  path: 'other requests',
  dashboard: 'dashboard',
  command: 'command',
};

const ROWS = Object.entries(ERRORS).map(([code, about]) => ({ code, ...about }));
export type ErrorRow = (typeof ROWS)[number];
/** Codes that only commands use. */
export const COMMAND_ROWS = ROWS.filter(({ place }) => place === 'command');
/** Codes of responses by status: `400 Bad Request` and its errors. */
export const ROWS_BY_STATUS: ReadonlyMap<string, readonly ErrorRow[]> = Map.groupBy(
  ROWS.filter(({ place }) => place !== 'command').toSorted((a, b) => a.httpStatus - b.httpStatus),
  ({ httpStatus }) => `${httpStatus} ${STATUS_CODES[httpStatus]}`,
);

export function renderErrorsPage(): string {
  const sections = [...ROWS_BY_STATUS].map(([status, rows]) => `<h2>${status}</h2>\n${rows.map(renderRow).join('\n')}`);
  return `${HEAD}\n${sections.join('\n')}\n</main>\n</html>\n`;
}

const renderRow = ({ code, httpStatus, place, message, remedy }: ErrorRow) =>
  `<section id="${code}"><h3><a href="#${code}">${code}</a> <small>${httpStatus} · ${PLACES[place]}</small></h3>
<p>${toHtml(message)}</p><p><b>What to do:</b> ${toHtml(remedy)}</p></section>`;

const HEAD = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Storeroom errors</title>
<style>
:root { color-scheme: light dark; --quiet: light-dark(#595f69, #a2a9b4); --line: light-dark(#d9dce1, #3a3f47) }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: light-dark(#1b1f24, #e6e8eb); background: light-dark(#fff, #16181c) }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.25rem 6rem }
h2 { margin: 3rem 0 1rem }
h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere }
h3 a, code { font-family: ui-monospace, monospace; font-size: .95em }
p { margin: .25rem 0 }
a { color: light-dark(#0b57d0, #8ab4f8); text-underline-offset: .2em }
small { margin-inline-start: .5rem; font-weight: 400; color: var(--quiet) }
section { padding: .9rem .75rem; border-top: 1px solid var(--line); scroll-margin-top: 1rem }
section:target { background: light-dark(#fff4ce, #3b3413) }
</style>
</head>
<main>
<h1>Errors</h1>
<p><code>code</code> never changes its meaning: branch on it. <code>message</code> in a response can be more exact than the
sentence here. Quote the <code>requestId</code> when you report a problem.</p>
<p>A 4xx response means that nothing was written. After a 5xx response or no response, the outcome of a write is unknown: retry
it with its <code>Idempotency-Key</code>.</p>
<p><a href="/docs/">API reference</a></p>`;

const toHtml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');
