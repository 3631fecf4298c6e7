/**
 * The operations as the service's own contract, /openapi.json, describes them: fetched once, and cut down to what the explorer shows. Knows no
 * operation by name, so that one added to the service is there too.
 */
import { ApiError } from '../../api/client.ts';

export interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** '' where the document has none. */
  readonly example: string;
}
export interface Operation {
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

export const IDEMPOTENCY_KEY = 'idempotency-key';
export const TEAM = 'teamID';
/** The session stands in their place. */
const CREDENTIALS = ['apiID', 'apiSecret'];

interface Schema {
  readonly description?: string;
  readonly type?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
interface Described {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    example?: unknown;
  }[];
  readonly requestBody?: { description?: string; content: Record<string, { schema: Schema; example?: unknown }> };
  readonly responses: Record<string, { description?: string }>;
}
interface OpenDocument {
  readonly paths: Record<string, Record<string, Described>>;
}

let fetched: Promise<OpenDocument> | undefined;

/** All that is below the base path of the API, in the order of the document. */
export async function loadOperations(baseURL: string): Promise<Operation[]> {
  fetched ??= fetchDocument();
  const { paths } = await fetched.catch((fault: unknown) => {
    fetched = undefined; // The next attempt asks again.
    throw fault;
  });
  const base = new URL(baseURL).pathname;
  return Object.entries(paths)
    .filter(([path]) => path.startsWith(`${base}/`))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => readOperation(method, path.slice(base.length), described)),
    );
}

async function fetchDocument(): Promise<OpenDocument> {
  const response = await fetch('/openapi.json').catch(() => undefined);
  if (response === undefined)
    throw new ApiError('NETWORK_ERROR', 'The service could not be reached. Check the connection and try again.', 0);
  if (!response.ok)
    throw new ApiError(
      'UNEXPECTED_ANSWER',
      `The service answered /openapi.json with status ${response.status}.`,
      response.status,
    );
  return (await response.json()) as OpenDocument;
}

function readOperation(method: string, path: string, described: Described): Operation {
  const { operationId, summary = operationId, description = '', tags = [], parameters = [] } = described;
  return {
    name: operationId,
    method: method.toUpperCase() as Operation['method'],
    path,
    tag: tags[0] ?? 'Other',
    summary,
    description,
    writes: parameters.some((parameter) => parameter.in === 'header' && parameter.name === IDEMPOTENCY_KEY),
    parameters: parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, required = false, description: about = '', example }) => ({
        name,
        isRequired: required,
        description: about,
        example: example === undefined ? '' : String(example), // eslint-disable-line typescript/no-base-to-string -- parameters of a query are no objects
      })),
    body: readBody(described.requestBody),
    errors: Object.entries(described.responses)
      .map(([status, { description: about = '' }]) => ({
        status: Number(status),
        codes: [...about.matchAll(/`(\w+)`/g)].map(([, code]) => code!),
      }))
      .filter(({ status }) => status >= 400),
  };
}

function readBody(sent: Described['requestBody']): OperationBody | undefined {
  const media = sent?.content['application/json'];
  if (media === undefined) return undefined;
  const isList = media.schema.type === 'array';
  const { properties = {}, required = [] } = (isList ? media.schema.items : media.schema) ?? {};
  return {
    isList,
    description: sent?.description ?? '',
    example: JSON.stringify(media.example ?? (isList ? [] : {}), null, 2),
    fields: Object.entries(properties)
      .filter(([name]) => name !== TEAM && !CREDENTIALS.includes(name))
      .map(([name, { description = '' }]) => ({ name, isRequired: required.includes(name), description, example: '' })),
  };
}
