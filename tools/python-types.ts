/**
 * Makes a part of client-python/storeroom.py from the contract: the path of each operation, the names of the fields of
 * each record type, and the bodies of writes. Custom fields are not in it, because the client accepts any other name.
 */

import {
  lastName,
  readOperations,
  type Contract,
  type ContractSchema,
} from '../src/http/contract/documented-operations.ts';
import { BASE_PATH } from '../src/http/server/protocol.ts';

const WIDTH = 120;
const RECORDS = ['Order', 'OrderLine', 'Customer', 'InventoryItem', 'Movement'];
/** The bodies of writes. A body that extends another comes after it. */
const WRITES = `AddressValues NewOrder OrderChange NewOrderLine OrderLineChange NewCustomer CustomerChange NewPart
  PartChange`.split(/\s+/);
const VALUES: Readonly<Record<string, string>> = {
  DecimalValue: 'Number',
  CalendarDateValue: 'Day',
  FlagValue: 'Flag',
};
const FIRST = '# Written by `npm run generate` from the contract. Change tools/python-types.ts, not this part.\n';
const LAST = '# The end of what `npm run generate` writes.\n';

/** Returns the module with its generated part replaced. */
export function renderPythonModule(contract: Contract, module: string): string {
  const [before, rest] = cut(module, FIRST);
  const [, after] = cut(rest, LAST);
  return `${before}${FIRST}${renderPart(contract)}${LAST}${after}`;
}

function cut(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`client-python/storeroom.py has lost its line "${mark.trim()}".`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function renderPart(contract: Contract): string {
  const { schemas } = contract.components;
  const operations = readOperations(contract)
    .filter(({ needsKeys }) => needsKeys)
    .map(
      ({ name, method, path }) => `    "${name}": ("${method.toUpperCase()}", "${path.slice(BASE_PATH.length)}"),\n`,
    );
  const records = RECORDS.map((name) => `${name}Field = ${literalOf(fieldsOf(schemas, schemas[name]!))}\n`);
  const writes = WRITES.map((name) => declare(schemas, name));
  return `OPERATIONS = {\n${operations.join('')}}\n\n${records.join('')}\n\n${writes.join('\n\n')}\n\n`;
}

function fieldsOf(schemas: Contract['components']['schemas'], schema: ContractSchema): string[] {
  if (schema.$ref !== undefined) return fieldsOf(schemas, schemas[lastName(schema.$ref)]!);
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
  return `class ${name}(${base === undefined ? 'TypedDict' : lastName(base.$ref!)}, total=False):\n${members.join('') || '    pass\n'}`;
}

function valueOf(schemas: Contract['components']['schemas'], schema: ContractSchema): string {
  if (schema.$ref === undefined) return 'Value';
  const name = lastName(schema.$ref);
  const values = schemas[name]!.enum;
  return values === undefined ? (VALUES[name] ?? 'Value') : literalOf(values);
}

/** Writes a Literal, on several lines if it is long. */
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
