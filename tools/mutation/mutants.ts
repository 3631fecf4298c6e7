/** Finds the small mistakes that `npm run test:mutation` plants in a source file, one at a time. */
import { parseSync, type Program } from 'oxc-parser';

export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The place of the mistake, in characters from the beginning of the file. */
  readonly start: number;
  readonly end: number;
  readonly after: string;
  /** The name in survivors.md: the function, the text, and the text that replaces it. The line is not part of it. */
  readonly name: string;
}

interface Node {
  readonly type: string;
  readonly operator?: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const SWAPS = new Map(
  (
    '< <=  <= <  > >=  >= >  === !==  !== ===  + -  - +  * /  / *  % *  ' +
    '&& ||  || &&  ?? &&  += -=  -= +=  ??= =  ++ --  -- ++'
  )
    .split('  ')
    .map((pair) => pair.split(' ') as [string, string]),
);
/** Nodes that have no meaning when the code runs. */
const IS_TYPE = /^TS(?!AsExpression|NonNullExpression|SatisfiesExpression)|^(Import|Export(All|Named))Declaration$/;
/** A string with three or more words is a text for people, unless it is SQL. */
const SENTENCE = /[a-z]+[,;:]? [a-z']+[,;:]? [a-z']/i;
const SHOWN_CHARACTERS = 60;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

export function findMutants(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  const names = new Map<string, number>();
  const textOf = ({ start, end }: Node): string => source.slice(start, end);

  const add = ({ start, end }: Pick<Node, 'start' | 'end'>, after: string, where: string): void => {
    if (source.slice(start, end) === after) return;
    const show = (text: string): string => {
      const shown = text.replace(/\s+/g, ' ');
      return shown.length > SHOWN_CHARACTERS ? `${shown.slice(0, SHOWN_CHARACTERS)}…` : shown;
    };
    let name = `${file} ${where}: ${show(source.slice(start, end))} → ${show(after)}`;
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    if (count > 1) name += ` (${count})`;
    mutants.push({ file, line: source.slice(0, start).split('\n').length, start, end, after, name });
  };

  const mutate = (node: Node, where: string): void => {
    const { type, operator } = node;
    const swapped = SWAPS.get(operator ?? '');
    if (swapped !== undefined && /^(Binary|Logical|Assignment)Expression$/.test(type)) {
      const [left, right] = [textOf(node['left'] as Node), textOf(node['right'] as Node)];
      add(
        node,
        type === 'LogicalExpression' ? `((${left}) ${swapped} (${right}))` : `${left} ${swapped} ${right}`,
        where,
      );
    } else if (swapped !== undefined && type === 'UpdateExpression')
      add(node, textOf(node).replace(operator!, swapped), where);
    else if (type === 'UnaryExpression' && operator === '!') add(node, textOf(node['argument'] as Node), where);
    else if (type === 'ReturnStatement' && isNode(node['argument'])) add(node['argument'], 'undefined', where);
    else if (type === 'ArrowFunctionExpression' && (node['body'] as Node).type !== 'BlockStatement')
      add(node['body'] as Node, 'undefined', where);
    else if (type === 'BlockStatement' || type === 'FunctionBody') {
      const body = node['body'] as Node[];
      if (body.length > 1 || (body[0] && body[0].type !== 'ReturnStatement')) add(node, '{}', where);
    } else if (type === 'TemplateLiteral' && textOf(node) !== '``') add(node, '``', where);
    else if (type === 'Literal') mutateLiteral(node, where);
    if (node['optional'] === true && /^(Member|Call)Expression$/.test(type)) {
      const from = ((node['object'] ?? node['callee']) as Node).end;
      const start = source.indexOf('?.', from);
      add({ start, end: start + 2 }, type === 'CallExpression' || node['computed'] === true ? '' : '.', where);
    }
    const { test, consequent } = node as { test?: unknown; consequent?: unknown };
    const isTold = (one: Node): boolean => /^[!=]==?$/.test(one.operator ?? '') || one.type === 'Literal';
    if (isNode(test) && type !== 'SwitchCase' && !isTold(test)) add(test, `!(${textOf(test)})`, where);
    if (type === 'IfStatement' && isNode(consequent) && consequent.type !== 'BlockStatement')
      add(consequent, '{}', where);
  };

  const mutateLiteral = (node: Node, where: string): void => {
    const { value, regex } = node as { value?: unknown; regex?: { flags: string } };
    if (regex) add(node, `/(?:)/${regex.flags}`, where);
    else if (typeof value === 'boolean') add(node, String(!value), where);
    else if (typeof value === 'string') add(node, value === '' ? `'mutant'` : `''`, where);
  };

  const isForPeople = (node: Node): boolean =>
    !file.startsWith('src/store/') &&
    node.type.endsWith('Literal') &&
    SENTENCE.test(textOf(node).replace(/\$\{[^}]*\}/g, 'x'));

  const walk = (node: Node, where: string): void => {
    if (IS_TYPE.test(node.type) && !isNode(node['declaration'])) return;
    const key = node['key'] ?? node['id'];
    const named = isNode(key) && /Function|Method|Declarator|PropertyDefinition/.test(node.type) ? textOf(key) : '';
    const inside = /^[#\w]+$/.test(named) && (where === '' || !/Declarator/.test(node.type)) ? named : where;
    if (!isForPeople(node)) mutate(node, inside || 'file');
    for (const [member, value] of Object.entries(node)) {
      // The name of a property is not a text, and a type is not code that runs.
      if (
        (member === 'key' && node['computed'] !== true) ||
        /^(type|return|super)(Annotation|Type|Parameters|Arguments|TypeArguments)$/.test(member)
      )
        continue;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, inside);
    }
  };

  const program: Program = parseSync(file, source).program;
  walk(program as unknown as Node, '');
  return mutants.toSorted((a, b) => a.start - b.start);
}
