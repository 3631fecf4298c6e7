/**
 * client/src/contract.ts, made from the contract: the named schemas as TypeScript, the path of each operation, and what
 * a batch takes. Custom fields are not in it: the client adds them by a type parameter.
 */

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>;
}
interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const BASE = '/tenant/api/pims/v1';
const WIDTH = 120;
/** Those the client's users name; what these refer to comes along. */
const ROOTS = `Order OrderLine Customer InventoryItem StorefrontLookup NewOrder NewOrderLine OrderLineChange OrderChange
  NewCustomer CustomerChange Filter ErrorCode`.split(/\s+/);
const PRIMITIVES: Readonly<Record<string, string>> = { integer: 'number' };
/** What the records of the client are made of; the rest is used here alone. */
const EXPORTED = [...ROOTS, 'Field', 'Usage', 'Stage', 'Value', 'StorefrontOrder', 'StorefrontItem'];

export function renderClientTypes(document: object): string {
  const contract = document as Contract;
  const { schemas } = contract.components;
  const operations = Object.entries(contract.paths)
    .filter(([path]) => path.startsWith(BASE))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, responses }]) => ({
        name: operationId,
        row: [method.toUpperCase(), path.slice(BASE.length)],
        data: responses['200']?.content?.['application/json']?.schema.properties?.['data'],
      })),
    );
  const dataOf = (name: string): Schema => operations.find((one) => one.name === name)!.data!;
  const own: Record<string, Schema> = { Field: dataOf('listFields').items!, Usage: dataOf('getUsage') };
  const reached = new Set([...ROOTS, 'OrderToCancel']);
  for (const name of reached) for (const further of refsOf(schemas[name]!)) reached.add(further);
  const named = [...[...reached].map((name): [string, Schema] => [name, schemas[name]!]), ...Object.entries(own)];
  const steps = refsOf({ anyOf: schemas['BatchStep']!.oneOf! }).map((step) => {
    const { properties } = schemas[step]!;
    const name = String(properties!['operation']!.const);
    return `  readonly ${name}: { readonly body: ${typeOf(properties!['body']!)}; readonly data: ${typeOf(dataOf(name))} };`;
  });
  const text = `/** Written by \`npm run generate\` from the contract; change the code, not this file. */

/** Method and path of each operation. */
export const OPERATIONS = {
${operations.map(({ name, row }) => `  ${name}: ['${row.join("', '")}'],`).join('\n')}
} as const;

/** The operations that a batch takes, and the data each of them answers. */
export interface BatchOperations {
${steps.join('\n')}
}

${named.map(([name, schema]) => declare(name, schema)).join('\n\n')}
`;
  return text.replace(/^.*\|.*$/gm, breakUnion);
}

/** A union that is too long for its line has a member on each of its lines. */
function breakUnion(line: string): string {
  if (line.length <= WIDTH) return line;
  const inner = `\n${/^ */.exec(line)![0]}  | `;
  return line.replace(/(?<=[=:]) /, inner).replaceAll(' | ', inner);
}

const refsOf = (schema: Schema): string[] =>
  [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!);

function declare(name: string, schema: Schema): string {
  const { allOf = [schema] } = schema;
  const base = allOf.find(({ $ref }) => $ref !== undefined);
  const parts = allOf.filter((part) => part !== base);
  const own: Schema = {
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as NonNullable<Schema['properties']>,
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

function commentOf({ description }: Schema, indent: string): string {
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

function objectOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const isNeeded = required.includes(name);
    const type = `${typeOf(schema, inner)}${isNeeded ? '' : ' | undefined'}`;
    return `${commentOf(schema, inner)}${inner}readonly ${name}${isNeeded ? '' : '?'}: ${type};\n`;
  });
  return `{\n${members.join('')}${indent}}`;
}

function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  // A pattern beside a list of values says how else they may be written; the client's users need no second way.
  if (schema.anyOf)
    return (schema.anyOf[0]!.enum ? [schema.anyOf[0]!] : schema.anyOf).map((one) => typeOf(one, indent)).join(' | ');
  if (schema.type === 'array') return `readonly ${itemOf(typeOf(schema.items!, indent))}[]`;
  if (schema.type === 'object') return objectOf(schema, indent);
  return [schema.type ?? []]
    .flat()
    .map((type) =>
      type === 'array' ? `readonly ${itemOf(typeOf(schema.items!, indent))}[]` : (PRIMITIVES[type] ?? type),
    )
    .join(' | ');
}

const itemOf = (type: string): string => (/^\w+$/.test(type) || type.startsWith('{') ? type : `(${type})`);
const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));
