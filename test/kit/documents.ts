/** Parses Markdown into blocks, links and headings, and compares the output that it shows with what was printed. */
import assert from 'node:assert/strict';

export interface Block {
  readonly language: string;
  /** Name under which the block is saved as a file, if its fence has one: ```ts client.ts */
  readonly file: string | undefined;
  readonly text: string;
  /** Line of its opening fence, counted from 1. */
  readonly line: number;
  /** Offset of the heading above the block in the document. */
  readonly section: number;
}

export function loadBlocks(markdown: string): Block[] {
  const fences = markdown.matchAll(/^```(\w*)(?: ([\w.-]+))?\n([^]*?)^```$/gm);
  return [...fences].map(({ 1: language = '', 2: file, 3: text = '', index }) => {
    const above = markdown.slice(0, index);
    return {
      language,
      file,
      text: text.replace(/\n$/, ''),
      line: above.split('\n').length,
      section: withoutBlocks(above).search(/^#(?![^]*^#)/m),
    };
  });
}

const withoutBlocks = (markdown: string): string =>
  markdown.replace(/^```[^]*?^```$/gm, (block) => block.replace(/[^\n]/g, '')).replace(/`[^`\n]*`/g, '');

/** Finds the links into this repository. */
export function findLinks(markdown: string): { target: string; line: number }[] {
  const text = withoutBlocks(markdown);
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(({ 1: target = '', index }) => ({ target, line: text.slice(0, index).split('\n').length }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** Returns the names of a document's headings as links write them. */
export function readSlugs(markdown: string): string[] {
  const headings = markdown.replace(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/**
 * Fails unless the printed output matches what is shown. Shown JSON may omit members and the ends of lists; shown text
 * may omit lines. The number of spaces in a gap does not matter, and `…` matches anything.
 */
export function assertShown(
  { language, text }: Pick<Block, 'language' | 'text'>,
  printed: string,
  where: string,
): void {
  if (language === 'json')
    return assertPart(JSON.parse(printed.slice(printed.lastIndexOf('\n{') + 1)), JSON.parse(text), where);
  const squeeze = (lines: string): string[] => lines.replaceAll('\r', '').replaceAll(/ +/g, ' ').split('\n');
  const lines = squeeze(printed);
  for (const line of squeeze(text)) {
    const form = new RegExp(
      `^${line
        .split('…')
        .map((part) => RegExp.escape(part))
        .join('.+')}$`,
    );
    const at = lines.findIndex((one) => form.test(one));
    assert.ok(at >= 0, `${where}: this is shown and was not printed, or not in this order: ${line}\n${printed}`);
    lines.splice(0, at + 1);
  }
}

function assertPart(actual: unknown, shown: unknown, where: string): void {
  if (shown === '…') return assert.ok(actual, where);
  if (typeof shown !== 'object' || shown === null) return assert.deepEqual(actual, shown, where);
  assert.equal(typeof actual, 'object', where);
  assert.equal(Array.isArray(actual), Array.isArray(shown), where);
  if (Array.isArray(shown) && shown.length === 0) assert.deepEqual(actual, [], where);
  for (const [name, value] of Object.entries(shown)) {
    assert.ok(Object.hasOwn(actual as object, name), `${where} ${name} is not in the answer`);
    assertPart((actual as Record<string, unknown>)[name], value, `${where} ${name}`);
  }
}
