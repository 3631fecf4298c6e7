/**
 * The words that comments and texts of the code may not have, and the openings that a comment may not have. Part of
 * `npm run check`, which prints each with its place and what to write instead. CONTRIBUTING.md has the reasons. Of the
 * texts of a test, only its name is read: the others are data.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor, type Comment } from 'oxc-parser';

const ROOT = join(import.meta.dirname, '..');
const FILES = [
  'src/**/*.{ts,sql}',
  'dashboard/src/**/*.{ts,tsx}',
  '{client,mcp}/src/**/*.ts',
  '{tools,bench,test}/**/*.ts',
];
/** This file lists what is forbidden. */
const EXEMPT = ['tools/words.ts'];

/** Words that may not be written, and what to write instead. */
const WORDS: readonly (readonly [found: RegExp, better: string])[] = [
  [/\bnobody\b/i, 'no one'],
  [/\banew\b/i, 'again'],
  [/\bwhatever\b/i, 'any'],
  [/\boftener\b/i, 'more often'],
  [/\bdear(er|est)?\b/i, 'expensive'],
  [/\bst(and|ood|ands) for\b/i, 'represents, means'],
  [/\bgo(es|ing)? on\b|\bwent on\b/i, 'continues'],
  [/\btravel(s|led)?\b/i, 'is sent'],
  [/\b(is|are|was|were|be|been) told\b/i, 'reports, is informed'],
  [/\bcomes? (of|by)\b/i, 'results from'],
  [/\bof (its|their|his|our) own\b/i, 'separate, its own …'],
  [/\bas (it is|they are)\b/i, 'unchanged'],
  [/\bso many\b/i, 'that many, the number of'],
  [/\b(brings?|brought)\b/i, 'contains, has'],
  [/\bthat (of|which)\b/i, 'name the thing'],
  [/\bno longer changes\b/i, 'cannot be changed'],
  [/\be-mails?\b/i, 'email'],
  [/\b(upper|lower)[ -]case\b/i, 'uppercase, lowercase'],
];
const OPENINGS =
  /^(Of|What|Those|Such|So|As|Else|Set (when|by|in)|Also|Not|Beside|For (it|them)|In which|From which|To which|With which|By which)\b/;

/** Files of tests, except the list of slow ones, whose reasons are prose. */
const TESTS = /^test\/(?!slow\.ts$)/;
/** Functions whose first argument is the name of a test. */
const NAMING = /^(test|suite|refuses)$/;

interface Text {
  readonly offset: number;
  readonly text: string;
  readonly isComment: boolean;
}

/** Returns the faults of the comments and texts of a file, a sentence each: `src/a.ts:3 "nobody": write no one`. */
export function findWordFaults(file: string, code: string): string[] {
  return readTexts(file, code).flatMap(({ offset, text, isComment }) => {
    const faults = WORDS.flatMap(([word, better]) => {
      const match = word.exec(text);
      return match ? [`"${match[0]}": write ${better}`] : [];
    });
    const opening = isComment ? OPENINGS.exec(text) : null;
    if (opening) faults.push(`begins with "${opening[0]}": begin with a verb or a noun phrase`);
    const line = code.slice(0, offset).split('\n').length;
    return faults.map((fault) => `${file}:${line} ${fault}`);
  });
}

if (import.meta.main) {
  const wanted = process.argv.slice(2);
  const files = globSync(FILES, { cwd: ROOT }).filter((file) => !EXEMPT.includes(file));
  const faults = files
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.startsWith(part)))
    .toSorted()
    .flatMap((file) => findWordFaults(file, readFileSync(join(ROOT, file), 'utf8')));
  for (const fault of faults) console.log(fault);
  if (faults.length > 0) {
    console.log(`${faults.length} words or openings that prose may not have.`);
    process.exitCode = 1;
  }
}

/** Reads the strings of a file, or of a test the names alone, and its comments, each run of line comments as one. */
function readTexts(file: string, code: string): Text[] {
  if (file.endsWith('.sql'))
    return joinLines(
      code,
      [...code.matchAll(/--(.*)/g)].map(({ 0: { length }, 1: value = '', index }) => {
        return { type: 'Line', value, start: index, end: index + length };
      }),
    );
  const { program, comments } = parseSync(file, code);
  const strings: Text[] = [];
  const names: (readonly [start: number, end: number])[] = [];
  const isRead = TESTS.test(file)
    ? (offset: number) => names.some(([start, end]) => offset >= start && offset < end)
    : () => true;
  const add = (offset: number, text: unknown): void => {
    if (typeof text === 'string' && text.includes(' ') && isRead(offset))
      strings.push({ offset, text, isComment: false });
  };
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      if (first && callee.type === 'Identifier' && NAMING.test(callee.name)) names.push([first.start, first.end]);
    },
    Literal: ({ start, value }) => add(start, value),
    TemplateElement: ({ start, value }) => add(start, value.cooked),
    JSXText: ({ start, value }) => add(start, value),
  }).visit(program);
  return [...joinLines(code, comments), ...strings];
}

/** Returns the comments as texts. Line comments below each other are one. */
function joinLines(code: string, comments: readonly Comment[]): Text[] {
  const texts: Text[] = [];
  let lineEnd = -1;
  for (const { type, value, start, end } of comments) {
    const text = value.replace(/^\s*\*?\s?/gm, '').trim();
    const previous = texts.at(-1);
    const follows = type === 'Line' && previous && /^\n[ \t]*$/.test(code.slice(lineEnd, start));
    if (follows) texts[texts.length - 1] = { ...previous, text: `${previous.text} ${text}` };
    else texts.push({ offset: start, text, isComment: true });
    lineEnd = end;
  }
  return texts;
}
