/** Fetches the service's contract, /openapi.json, once and reads the operations from it. */
import {
  lastName,
  readOperations,
  type Contract,
  type ContractSchema,
  type DocumentedOperation,
} from '../../../../src/http/contract/documented-operations.ts';
import { getContract, type Method } from '../../api/client.ts';

export interface ExplorerOperation extends Omit<DocumentedOperation, 'method' | 'body'> {
  readonly method: Method;
  /** The path below the base URL: `/orders/query`. */
  readonly path: string;
  readonly body: OperationBody | undefined;
}
interface OperationBody {
  readonly description: string;
  /** The formatted JSON. */
  readonly example: string;
  /** Members of the body, or of each of its elements. */
  readonly fields: readonly DescribedField[];
}
export interface DescribedField {
  readonly name: string;
  readonly place: string;
  readonly isRequired: boolean;
  readonly description: string;
}

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
export const TEAM = 'teamID';

let fetched: Promise<unknown> | undefined;

/** Returns all operations below the base path of the API, in the order of the document. */
export async function loadOperations(baseURL: string): Promise<ExplorerOperation[]> {
  fetched ??= getContract().catch((fault: unknown) => {
    fetched = undefined; // The next attempt fetches it again.
    throw fault;
  });
  const contract = (await fetched) as Contract;
  const base = new URL(baseURL).pathname;
  return readOperations(contract)
    .filter(({ path }) => path.startsWith(`${base}/`))
    .map(({ method, path, body, ...operation }) => ({
      ...operation,
      method: method.toUpperCase() as Method,
      path: path.slice(base.length),
      body: body && describeBody(contract, body),
    }));
}

function describeBody({ components }: Contract, body: NonNullable<DocumentedOperation['body']>): OperationBody {
  const resolve = (schema: ContractSchema): ContractSchema =>
    schema.$ref === undefined ? schema : components.schemas[lastName(schema.$ref)]!;
  const listParts = (schema: ContractSchema): ContractSchema[] => {
    const own = resolve(schema);
    return [...(own.allOf ?? []).flatMap(listParts), own];
  };
  const { description = '', items } = resolve(body.schema);
  const parts = listParts(items ?? body.schema);
  const properties = Object.assign({}, ...parts.map((part) => part.properties)) as Record<string, ContractSchema>;
  const required = parts.flatMap((part) => part.required ?? []);
  return {
    description,
    example: JSON.stringify(body.example, null, 2),
    fields: Object.entries(properties).map(([name, { description: about = '' }]) => ({
      name,
      place: items ? 'each item' : 'body',
      isRequired: required.includes(name),
      description: about,
    })),
  };
}
