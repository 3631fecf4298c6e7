/** Renders a document of this repository as HTML, with links to the other pages that a service serves. */
import { posix } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { describeError } from './error-rows.ts';

/** A heading of the index, and the names and addresses of the pages below it. */
export interface Section {
  readonly title: string;
  readonly links: readonly (readonly [name: string, url: string])[];
}

/** Matches the documents that are pages. The others are for people who change the code, and need a checkout. */
const PAGES =
  /^(docs\/(several-nodes\/)?(?!architecture|releasing)[\w-]+|(client|client-python|mcp|demo|examples)\/README|README|SECURITY|CHANGELOG)\.md$/;
const INDEX = 'docs/README.md';
/** Addresses of what is no document. */
const OTHERS: Readonly<Record<string, string>> = {
  'openapi.json': '/openapi.json',
  examples: '/docs/examples',
};

/** Returns the address of a file of this repository on the service, or undefined if the service does not serve it. */
export function findUrl(file: string): string | undefined {
  if (file in OTHERS) return OTHERS[file];
  if (file === 'README.md') return '/docs/readme';
  if (file.startsWith('docs/screenshots/')) return `/${file}`;
  if (!PAGES.test(file)) return undefined;
  const name = file.replace(/^docs\//, '').replace(/\.md$/, '');
  return `/docs/${name.replace(/(^|\/)README$/, '').toLowerCase()}`;
}

export const readTitle = (markdown: string): string => escapeHtml(/^# (.+)$/m.exec(markdown)![1]!.replaceAll('`', ''));

/** Returns the sections of the index that name at least one page. */
export function listSections(file: string, markdown: string): Section[] {
  const marked = new Marked();
  return splitSections(markdown)
    .slice(1)
    .map((text) => {
      const links: [string, string][] = [];
      void marked.walkTokens(marked.lexer(text), (token) => {
        const url = token.type === 'link' && resolveLink(file, (token as Tokens.Link).href);
        if (url && url.startsWith('/')) links.push([escapeHtml((token as Tokens.Link).text.replaceAll('`', '')), url]);
      });
      return { title: escapeHtml(text.split('\n', 1)[0]!.slice(3)), links };
    })
    .filter(({ links }) => links.length > 0);
}

const splitSections = (markdown: string): string[] => markdown.split(/^(?=## )/m);

export function renderMarkdown(file: string, markdown: string): string {
  const slugs = new Map<string, number>();
  const marked: Marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = makeSlug(text, slugs);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const url = resolveLink(file, href);
        return url === undefined
          ? `<span title="In the source: ${escapeHtml(join(file, href))}">${text}</span>`
          : `<a href="${escapeHtml(url)}">${text}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escapeHtml(resolveLink(file, href)!)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      html({ text }) {
        if (text.startsWith('<!--')) return '';
        return text.replaceAll(/\b(src|srcset)="([^"]+)"/g, (_, name, path) => `${name}="${resolveLink(file, path)}"`);
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
      },
      codespan({ text }) {
        const code = `<code>${escapeHtml(text)}</code>`;
        return /^\/docs(\/(errors|reference))?$/.test(text) ? `<a href="${text}">${code}</a>` : code;
      },
      list({ items }): string | false {
        if (file !== 'docs/errors.md' || !ERROR_LINE.test(items[0]!.text)) return false;
        return items.map(({ text }) => renderError(text, (words) => marked.parseInline(words) as string)).join('\n');
      },
      table(table) {
        const renderRow = (cells: readonly Tokens.TableCell[]): string => {
          const row = cells.map(({ header, text, tokens }) => {
            const tag = header && text !== '' ? 'th' : 'td'; // an empty head is a fault for screen readers
            return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
          });
          return `<tr>${row.join('')}</tr>`;
        };
        const rows = table.rows.map(renderRow);
        return `<div class="table" tabindex="0"><table>\n<thead>${renderRow(table.header)}</thead>\n<tbody>${rows.join('\n')}</tbody>\n</table></div>\n`;
      },
    },
  });
  const isPublic = (text: string): boolean => file !== INDEX || listSections(file, `\n${text}`).length > 0;
  const [opening = '', ...sections] = splitSections(markdown);
  return marked.parse([opening, ...sections.filter(isPublic)].join('')) as string;
}

/** A line of the lists of errors: the code and its remedy. */
const ERROR_LINE = /^`([A-Z_]+)`: (.+)$/;

/** Renders an error with its meaning as a section, at the anchor that the `docs` of an error names. */
function renderError(line: string, render: (text: string) => string): string {
  const [, name = '', remedy = ''] = ERROR_LINE.exec(line)!;
  const { reach, message } = describeError(name);
  return `<section id="${name}"><h3><a href="#${name}"><code>${name}</code></a> <small>${reach}</small></h3>
<p>${render(message)}</p><p><b>What to do:</b> ${render(remedy)}</p></section>\n`;
}

/** Returns the address of a link, or undefined if it names a file that the service does not serve. */
function resolveLink(from: string, href: string): string | undefined {
  if (/^(#|[a-z]+:)/.test(href)) return href;
  const [, anchor] = href.split('#');
  const url = findUrl(join(from, href));
  return url && anchor ? `${url}#${anchor}` : url;
}

const join = (from: string, href: string): string =>
  posix.join(posix.dirname(from), href.split('#')[0]!).replace(/\/$/, '');

/** Returns the name of a heading as links write it. */
function makeSlug(heading: string, taken: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replace(/\]\([^)]*\)/g, '')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const count = taken.get(slug) ?? 0;
  taken.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
