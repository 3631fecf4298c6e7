/**
 * Begin here. Makes docs/dist, the pages that a service serves at `/docs`: the guides, the errors, and the reference, a
 * page of Scalar that reads the contract from the service. Each has a compressed copy, as src/http/server/built-files.ts
 * expects. Part of `npm ci` and of `npm run build`.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import reference from '@scalar/fastify-api-reference';
import Fastify from 'fastify';
import { findUrl, listSections, readTitle, renderMarkdown } from './markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const OUT = join(ROOT, 'docs/dist');
const INDEX = 'docs/README.md';
const PICTURES = 'docs/screenshots/*.webp';
const REFERENCE_OPTIONS = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
};
const REFERENCE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Storeroom reference</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
</head>
<body>
<div id="app"></div>
<script src="/docs/js/scalar.js"></script>
<script src="/docs/js/reference.js"></script>
</body>
</html>
`;

const { version } = JSON.parse(readText('package.json')) as { version: string };

rmSync(OUT, { recursive: true, force: true });
const sections = listSections(INDEX, readText(INDEX));
for (const file of globSync(['*.md', 'docs/**/*.md', '*/README.md'], { cwd: ROOT })) {
  const url = findUrl(file);
  if (url !== undefined) write(`${url.slice('/docs/'.length) || 'index'}.html`, renderPage(file, url));
}
write('reference.html', REFERENCE);
write('js/reference.js', `Scalar.createApiReference('#app', ${JSON.stringify(REFERENCE_OPTIONS)});\n`);
write('js/scalar.js', await readScalar());
// The service unpacks the copy for a browser without gzip: the script would be 5 MB of each form of the program.
rmSync(join(OUT, 'js/scalar.js'));
write('style.css', readText('tools/site/style.css'));
write('icon.svg', readText('dashboard/icon.svg'));
for (const file of globSync(PICTURES, { cwd: ROOT }))
  cpSync(join(ROOT, file), join(OUT, 'screenshots', basename(file)));

function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function write(name: string, text: string): void {
  const file = join(OUT, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
}

/** Returns the script of the reference. Its package has no file with it, only a plugin that serves it. */
async function readScalar(): Promise<string> {
  const app = Fastify();
  await app.register(reference, { routePrefix: '/', configuration: { url: '/openapi.json' } });
  const { body, statusCode } = await app.inject({ url: '/js/scalar.js' });
  await app.close();
  if (statusCode !== 200) throw new Error('@scalar/fastify-api-reference does not serve js/scalar.js.');
  return body;
}

function renderPage(file: string, url: string): string {
  const text = readText(file);
  const groups = sections.map(({ title, links }) => {
    const items = links.map(([name, href]) => {
      const current = href === url ? ' aria-current="page"' : '';
      return `<li><a href="${href}"${current}>${name}</a></li>`;
    });
    return `<h2>${title}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
  });
  const title = file === INDEX ? 'Storeroom documents' : `${readTitle(text)} · Storeroom`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="stylesheet" href="/docs/style.css">
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
</head>
<body>
<header>
<a href="/docs/">Storeroom ${version}</a>
<nav aria-label="Service"><a href="#pages">All pages</a> <a href="/docs/reference">Reference</a> <a href="/dashboard/">Dashboard</a></nav>
</header>
<main>
${renderMarkdown(file, text)}</main>
<nav id="pages" aria-label="Pages">
${groups.join('\n')}
</nav>
</body>
</html>
`;
}
