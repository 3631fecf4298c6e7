/** Renders the licences in every package and executable: each third-party package, its licence, and its text. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REFERENCE, type ShippedPackage } from './shipped.ts';

/** SPDX names of licences that allow a program under Apache-2.0 to contain the code. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
]);

/** The file of the reference, which contains more packages and their notices. */
const REFERENCE_FILE = 'dist/index.js';
const NOTICE = /(?:\/\*[!*]|@license)(?:(?!\*\/)[^])*?(?:licen[cs]e|copyright)(?:(?!\*\/)[^])*?\*\//gi;

const RULE = '-'.repeat(80);

/** Renders the list. Throws if a licence is not allowed, or if a package has no text of its licence. */
export function renderLicences(root: string, nodeFolder: string, shipped: readonly ShippedPackage[]): string {
  const refused = shipped.filter(({ licence }) => !isAllowed(licence));
  if (refused.length > 0)
    throw new Error(
      `These licences are not allowed: ${refused.map(({ name, licence }) => `${name} (${licence})`).join(', ')}. ` +
        'Take another package, or add the licence to tools/release/licences.ts.',
    );
  const opening =
    'Storeroom is under the Apache License 2.0 (see LICENSE and NOTICE). It carries these packages, under their own\n' +
    'terms, and runs on Node.js, whose licence is the last.';
  const chapters = shipped.map((one) => {
    const title = `${one.name} ${one.version} (${one.licence})`;
    return [title, ...textsOf(one, root)].join('\n\n');
  });
  const node = `Node.js\n\n${readFileSync(join(nodeFolder, 'LICENSE'), 'utf8').trim()}`;
  return `${[opening, ...chapters, node].join(`\n\n${RULE}\n\n`)}\n`.replaceAll('\r\n', '\n');
}

/** Returns whether one alternative (OR) has only allowed licences (AND). */
export function isAllowed(expression: string): boolean {
  const words = expression.replaceAll(/[()]/g, ' ').trim();
  return words.split(/\s+OR\s+/).some((one) => one.split(/\s+AND\s+/).every((name) => ALLOWED.has(name.trim())));
}

function textsOf({ name, licence, author, path, texts }: ShippedPackage, root: string): string[] {
  const all = [...texts];
  if (all.length === 0) {
    if (licence !== 'MIT') throw new Error(`${name} has no text of its licence, ${licence}.`);
    all.push(renderMit(author));
  }
  if (name === REFERENCE) {
    const page = readFileSync(join(root, path, REFERENCE_FILE), 'utf8').replaceAll(String.raw`\n`, '\n');
    const notices = new Set(page.match(NOTICE));
    if (notices.size === 0) throw new Error(`${REFERENCE} has no notices of the packages in its page.`);
    all.push('Its page holds more packages, with these notices:', ...notices);
  }
  return all;
}

/** Renders the MIT licence for packages that name it but do not contain its text. */
function renderMit(holder: string): string {
  return `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
}
