/**
 * Renders build/conformance.md: the numbered promises of docs/specification.md with the tests that hold them. A comment
 * above a test or a suite, `// Holds S3.4, S6.2.`, names the promises.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PROMISE = /^- \*\*(S\d+\.\d+)\*\* /gm;
const TAG = /^ *\/\/ Holds (S[\d.]+(?:, S[\d.]+)*)\.\n(.*)/gm;

/** Renders the page. Throws if a promise has no test, or if a tag names no promise or has no test below it. */
export function renderConformance(): string {
  const specification = readFileSync(join(ROOT, 'docs/specification.md'), 'utf8');
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).toSorted();
  return renderPromises(
    specification,
    files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
}

export function renderPromises(
  specification: string,
  files: readonly (readonly [file: string, text: string])[],
): string {
  const promises = [...specification.matchAll(PROMISE)].map(([, number]) => number!);
  const holders = new Map(promises.map((number) => [number, new Set<string>()]));
  const faults = promises
    .filter((number, index) => promises.indexOf(number) < index)
    .map((number) => `${number} twice`);
  for (const [file, text] of files)
    for (const [tag, numbers = '', below = ''] of text.matchAll(TAG)) {
      if (!/^ *(await )?(test|suite|refuses)\(/.test(below)) faults.push(`${file}: no test below "${tag.trim()}"`);
      for (const number of numbers.split(', ')) {
        const held = holders.get(number);
        if (held) held.add(file);
        else faults.push(`${file}: no promise ${number}`);
      }
    }
  for (const [number, held] of holders) if (held.size === 0) faults.push(`no test holds ${number}`);
  if (faults.length > 0) throw new Error(`Promises and their tests do not agree: ${faults.join('; ')}.`);
  const lines = [...holders].map(
    ([number, held]) =>
      `- ${number}: ${[...held].map((file) => `[${basename(file, '.test.ts')}](../${file})`).join(', ')}`,
  );
  return `# Conformance

The promises of the [specification](specification.md), each with the files whose tests hold it. Search a file for the number
of the promise to find the tests.

${lines.join('\n')}
`;
}
