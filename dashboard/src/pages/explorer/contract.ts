/**
 * The operations as the service's contract, /openapi.json, describes them: fetched once, with its references followed.
 */
import { getContract } from '../../api/client.ts';

export interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** '' where the document has none. */
  readonly example: string;
}
export interface ExplorerOperation {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the base URL: `/orders/query`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Whether it changes records. */
  readonly writes: boolean;
  /** In the query string. */
  readonly parameters: readonly Parameter[];
  readonly headers: readonly Parameter[];
  readonly body: OperationBody | undefined;
  readonly errors: readonly { readonly status: number; readonly codes: readonly string[] }[];
}
interface OperationBody {
  readonly isList: boolean;
  readonly description: string;
  /** JSON, laid out. */
  readonly example: string;
  /** Members of the body, or of each element of it. */
  readonly fields: readonly Parameter[];
}

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
export const TEAM = 'teamID';
/** Parameters that the explorer leaves out, because it uses the session. */
const CREDENTIALS = ['apiID', 'apiSecret'];
const JSON_TYPE = 'application/json';

/** Anything in the document may be a reference to a part of `components`. */
interface Referring {
  readonly $ref?: string;
}
interface ContractSchema extends Referring {
  readonly description?: string;
  readonly type?: unknown;
  readonly enum?: readonly string[];
  readonly items?: ContractSchema;
  readonly allOf?: readonly ContractSchema[];
  readonly properties?: Readonly<Record<string, ContractSchema>>;
  readonly required?: readonly string[];
}
interface Exemplified {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
type Content = Readonly<Record<string, Exemplified & { readonly schema: ContractSchema }>>;
interface ContractParameter extends Referring, Exemplified {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}
interface ContractOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly ContractParameter[];
  readonly requestBody?: Referring & { readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, Referring & { readonly content?: Content }>>;
}
interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ContractOperation>>>>;
}

let fetched: Promise<unknown> | undefined;

/** Returns all operations below the base path of the API, in the order of the document. */
export async function loadOperations(baseURL: string): Promise<ExplorerOperation[]> {
  fetched ??= getContract();
  const contract = (await fetched.catch((fault: unknown) => {
    fetched = undefined; // The next attempt fetches it again.
    throw fault;
  })) as Contract;
  const base = new URL(baseURL).pathname;
  return Object.entries(contract.paths)
    .filter(([path]) => path.startsWith(`${base}/`))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) =>
        toOperation(contract, method, path.slice(base.length), operation),
      ),
    );
}

/** Returns a part of the contract with its `$ref` followed. Members beside the reference win. */
function follow<Part extends Referring>(contract: Contract, part: Part): Part {
  if (part.$ref === undefined) return part;
  const path = part.$ref.replace('#/', '').split('/');
  const named = path.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], contract) as Part;
  return { ...follow(contract, named), ...part, $ref: undefined };
}

/** Returns a schema with its references followed and the members of its `allOf` merged. */
function mergeSchema(contract: Contract, schema: ContractSchema): ContractSchema {
  const { allOf = [], ...own } = follow(contract, schema);
  const parts = [...allOf.map((part) => mergeSchema(contract, part)), own];
  return Object.assign({}, ...parts, {
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as ContractSchema['properties'],
    required: parts.flatMap(({ required = [] }) => required),
  }) as ContractSchema;
}

const exampleOf = ({ example, examples = {} }: Exemplified): unknown => example ?? Object.values(examples)[0]?.value;

function toOperation(
  contract: Contract,
  method: string,
  path: string,
  operation: ContractOperation,
): ExplorerOperation {
  const { operationId, summary = operationId, description = '', tags = [], responses } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) => follow(contract, parameter));
  const headers = parameters.filter((parameter) => parameter.in === 'header').map(toParameter);
  return {
    name: operationId,
    method: method.toUpperCase() as ExplorerOperation['method'],
    path,
    tag: tags[0] ?? 'Other',
    summary,
    description,
    writes: headers.some(({ name }) => name === IDEMPOTENCY_KEY),
    parameters: parameters
      .filter((parameter) => parameter.in === 'query' && !CREDENTIALS.includes(parameter.name))
      .map(toParameter),
    headers,
    body: operation.requestBody && toBody(contract, operation.requestBody),
    errors: Object.entries(responses)
      .map(([status, response]) => {
        const { schema = {} } = follow(contract, response).content?.[JSON_TYPE] ?? {};
        const { code = {} } = mergeSchema(contract, schema).properties ?? {};
        return { status: Number(status), codes: code.enum ?? [] };
      })
      .filter(({ status }) => status >= 400),
  };
}

const toParameter = ({ name, required = false, description = '', ...more }: ContractParameter): Parameter => ({
  name,
  isRequired: required,
  description,
  // eslint-disable-next-line typescript/no-base-to-string -- values of a query are texts or numbers
  example: String(exampleOf(more) ?? ''),
});

function toBody(
  contract: Contract,
  requestBody: NonNullable<ContractOperation['requestBody']>,
): OperationBody | undefined {
  const { description, content } = follow(contract, requestBody);
  const media = content[JSON_TYPE];
  if (media === undefined) return undefined;
  const schema = mergeSchema(contract, media.schema);
  const isList = schema.type === 'array';
  const { properties = {}, required = [] } = isList ? mergeSchema(contract, schema.items ?? {}) : schema;
  return {
    isList,
    description: description ?? schema.description ?? '',
    example: JSON.stringify(exampleOf(media) ?? (isList ? [] : {}), null, 2),
    fields: Object.entries(properties)
      .filter(([name]) => name !== TEAM && !CREDENTIALS.includes(name))
      .map(([name, property]) => ({
        name,
        isRequired: required.includes(name),
        description: follow(contract, property).description ?? '',
        example: '',
      })),
  };
}
