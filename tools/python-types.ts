/**
 * The part of client-python/storeroom.py that is made from the contract: the path of each operation, the names of the
 * fields of each record type, and what writes take. Custom fields are not in it: the client takes any name beside them.
 */

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const BASE = '/tenant/api/pims/v1';
const WIDTH = 120;
const RECORDS = ['Order', 'OrderLine', 'Customer', 'InventoryItem'];
/** Those with a base come after it. */
const WRITES = 'AddressValues NewOrder OrderChange NewOrderLine OrderLineChange NewCustomer CustomerChange'.split(' ');
const VALUES: Readonly<Record<string, string>> = {
  DecimalValue: 'Number',
  CalendarDateValue: 'Day',
  FlagValue: 'Flag',
};
const FIRST = '# Written by `npm run generate` from the contract. Change tools/python-types.ts, not this part.\n';
const LAST = '# The end of what `npm run generate` writes.\n';

/** The module with that part anew. */
export function renderPythonModule(document: object, module: string): string {
  const [before, rest] = cut(module, FIRST);
  const [, after] = cut(rest, LAST);
  return `${before}${FIRST}${renderPart(document as Contract)}${LAST}${after}`;
}

function cut(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`client-python/storeroom.py has lost its line "${mark.trim()}".`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function renderPart({ paths, components: { schemas } }: Contract): string {
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(BASE))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) =>
          `    "${operationId}": ("${method.toUpperCase()}", "${path.slice(BASE.length)}"),\n`,
      ),
    );
  const records = RECORDS.map((name) => `${name}Field = ${literalOf(fieldsOf(schemas, schemas[name]!))}\n`);
  const writes = WRITES.map((name) => declare(schemas, name));
  return `OPERATIONS = {\n${operations.join('')}}\n\n${records.join('')}\n\n${writes.join('\n\n')}\n\n`;
}

const nameOf = ({ $ref }: Schema): string => $ref!.split('/').at(-1)!;

function fieldsOf(schemas: Contract['components']['schemas'], schema: Schema): string[] {
  if (schema.$ref !== undefined) return fieldsOf(schemas, schemas[nameOf(schema)]!);
  return [...Object.keys(schema.properties ?? {}), ...(schema.allOf ?? []).flatMap((one) => fieldsOf(schemas, one))];
}

function declare(schemas: Contract['components']['schemas'], name: string): string {
  const parts = schemas[name]!.allOf ?? [schemas[name]!];
  const base = parts.find(({ $ref }) => $ref !== undefined);
  const inherited = base === undefined ? [] : fieldsOf(schemas, base);
  const members = parts
    .flatMap(({ properties }) => Object.entries(properties ?? {}))
    .filter(([field]) => !inherited.includes(field))
    .map(([field, value]) => `    ${field}: ${valueOf(schemas, value)}\n`);
  return `class ${name}(${base === undefined ? 'TypedDict' : nameOf(base)}, total=False):\n${members.join('') || '    pass\n'}`;
}

function valueOf(schemas: Contract['components']['schemas'], schema: Schema): string {
  if (schema.$ref === undefined) return 'Value';
  const name = nameOf(schema);
  const values = schemas[name]!.enum;
  return values === undefined ? (VALUES[name] ?? 'Value') : literalOf(values);
}

/** A Literal, on as many lines as it takes. */
function literalOf(values: readonly unknown[]): string {
  const words = values.map((value) => (value === null ? 'None' : JSON.stringify(value)));
  const whole = `Literal[${words.join(', ')}]`;
  if (whole.length < WIDTH - 30) return whole;
  const lines = [''];
  for (const word of words) {
    if (`    ${lines.at(-1)} ${word},`.length > WIDTH) lines.push('');
    lines.push(`${lines.pop()} ${word},`.trimStart());
  }
  return `Literal[\n${lines.map((line) => `    ${line}\n`).join('')}]`;
}
