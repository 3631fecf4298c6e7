/**
 * Makes client/src/contract.ts from the contract: the named schemas as TypeScript, the path of each operation, and the
 * operations of a batch. Custom fields are not in it: the client adds them by a type parameter.
 */

import {
  lastName,
  readOperations,
  type Contract,
  type ContractSchema,
} from '../src/http/contract/documented-operations.ts';
import { BASE_PATH } from '../src/http/server/protocol.ts';

const WIDTH = 120;
/** The types that users of the client name. The types that these refer to are added. */
const ROOTS = `Order OrderLine Customer InventoryItem StorefrontLookup NewOrder NewOrderLine OrderLineChange OrderChange
  NewCustomer CustomerChange NewPart PartChange Filter ErrorCode`.split(/\s+/);
/** The types that other files of the client use. */
const EXPORTED = [
  ...ROOTS,
  ...'AdvancedOrder Invoice InvoiceToVoid Return StockReceipt Movement Change Field Usage Stage Value'.split(' '),
  ...'StorefrontOrder StorefrontItem'.split(' '),
];

export function renderClientTypes(contract: Contract): string {
  const { schemas } = contract.components;
  const operations = readOperations(contract).filter(({ needsKeys }) => needsKeys);
  const dataOf = (wanted: string): ContractSchema =>
    operations.find(({ name }) => name === wanted)!.answers['200']!.schema.properties!['data']!;
  const own: Record<string, ContractSchema> = {
    Movement: schemas['Movement']!,
    Change: schemas['Change']!,
    Field: dataOf('listFields').items!,
    Usage: dataOf('getUsage'),
  };
  const ofSteps = refsOf({ anyOf: schemas['BatchStep']!.oneOf! }).flatMap((step) => [
    ...refsOf(schemas[step]!),
    ...refsOf(dataOf(String(schemas[step]!.properties!['operation']!.const))),
  ]);
  const reached = new Set([...ROOTS, ...ofSteps]);
  for (const name of reached) for (const further of refsOf(schemas[name]!)) reached.add(further);
  const named = [
    ...[...reached].map((name): [string, ContractSchema] => [name, schemas[name]!]),
    ...Object.entries(own),
  ];
  const steps = refsOf({ anyOf: schemas['BatchStep']!.oneOf! }).map((step) => {
    const { properties } = schemas[step]!;
    const name = String(properties!['operation']!.const);
    return `  readonly ${name}: { readonly body: ${typeOf(properties!['body']!)}; readonly data: ${typeOf(dataOf(name))} };`;
  });
  const text = `/** Written by \`npm run generate\` from the contract; change the code, not this file. */

/** Method and path of each operation. */
export const OPERATIONS = {
${operations.map(({ name, method, path }) => `  ${name}: ['${method.toUpperCase()}', '${path.slice(BASE_PATH.length)}'],`).join('\n')}
} as const;

/** The operations that a batch accepts, and the data that each of them returns. */
export interface BatchOperations {
${steps.join('\n')}
}

${named.map(([name, schema]) => declare(name, schema)).join('\n\n')}
`;
  return text.replace(/^.*\|.*$/gm, breakUnion);
}

/** Writes a union that is too long for its line with one member per line. */
function breakUnion(line: string): string {
  if (line.length <= WIDTH) return line;
  const inner = `\n${/^ */.exec(line)![0]}  | `;
  return line.replace(/(?<=[=:]) /, inner).replaceAll(' | ', inner);
}

const refsOf = (schema: ContractSchema): string[] =>
  [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!);

function declare(name: string, schema: ContractSchema): string {
  const { allOf = [schema] } = schema;
  const base = allOf.find(({ $ref }) => $ref !== undefined);
  const parts = allOf.filter((part) => part !== base);
  const own: ContractSchema = {
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as NonNullable<
      ContractSchema['properties']
    >,
    required: parts.flatMap(({ required = [] }) => required),
  };
  const comment = commentOf(schema, '').replace(
    / Credentials may also be sent in the body\.|, custom fields included/,
    '',
  );
  const opening = `${comment}${EXPORTED.includes(name) ? 'export ' : ''}`;
  if (schema.allOf === undefined && schema.properties === undefined)
    return `${opening}type ${name} = ${typeOf(schema)};`;
  const inherited = base === undefined ? '' : ` extends ${typeOf(base)}`;
  return `${opening}interface ${name}${inherited} ${objectOf(own, '')}`;
}

function commentOf({ description }: ContractSchema, indent: string): string {
  if (description === undefined) return '';
  const line = `${indent}/** ${description} */\n`;
  if (line.length <= WIDTH + 1) return line;
  const words = description.split(' ');
  const lines = [''];
  for (const word of words) {
    if (`${indent} *${lines.at(-1)} ${word}`.length > WIDTH) lines.push('');
    lines.push(`${lines.pop()} ${word}`);
  }
  return `${indent}/**\n${lines.map((text) => `${indent} *${text}\n`).join('')}${indent} */\n`;
}

function objectOf({ properties = {}, required = [] }: ContractSchema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const isNeeded = required.includes(name);
    const type = `${typeOf(schema, inner)}${isNeeded ? '' : ' | undefined'}`;
    return `${commentOf(schema, inner)}${inner}readonly ${name}${isNeeded ? '' : '?'}: ${type};\n`;
  });
  return `{\n${members.join('')}${indent}}`;
}

function typeOf(schema: ContractSchema, indent = ''): string {
  if (schema.$ref !== undefined) return lastName(schema.$ref);
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  // A pattern beside a list of values allows other forms of them. The client only accepts the values themselves.
  if (schema.anyOf)
    return (schema.anyOf[0]!.enum ? [schema.anyOf[0]!] : schema.anyOf).map((one) => typeOf(one, indent)).join(' | ');
  const ofType = (type: string): string => {
    if (type === 'object') return objectOf(schema, indent);
    if (type === 'array') return `readonly ${itemOf(typeOf(schema.items!, indent))}[]`;
    return type === 'integer' ? 'number' : type;
  };
  return [schema.type ?? []].flat().map(ofType).join(' | ');
}

const itemOf = (type: string): string => (/^\w+$/.test(type) || type.startsWith('{') ? type : `(${type})`);
const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));
