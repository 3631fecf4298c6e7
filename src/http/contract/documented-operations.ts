/**
 * Reads the operations from the contract, for everything that is made from it: tools for agents, the dashboard's
 * explorer, the Bruno collection and the clients' types. Imports nothing, since browsers run this file too.
 */

type ByName<T> = Readonly<Record<string, T>>;

/** A part of a JSON Schema. Its references to other schemas are not resolved. */
export interface ContractSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly allOf?: readonly ContractSchema[];
  readonly anyOf?: readonly ContractSchema[];
  readonly oneOf?: readonly ContractSchema[];
  readonly items?: ContractSchema;
  readonly properties?: ByName<ContractSchema>;
  readonly required?: readonly string[];
}

/** The parts of an OpenAPI document that are read here. */
export interface Contract {
  readonly info: { readonly title: string };
  readonly paths: ByName<ByName<OperationPart>>;
  readonly components: {
    readonly schemas: ByName<ContractSchema>;
    readonly parameters: ByName<ParameterPart>;
    readonly responses: ByName<ContentPart>;
  };
}

interface OperationPart {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly (ParameterPart | Reference)[];
  readonly requestBody?: ContentPart;
  readonly responses: ByName<ContentPart | Reference>;
}
interface Exemplified {
  readonly schema: ContractSchema;
  readonly example?: unknown;
}
interface ParameterPart extends Exemplified {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
}
interface ContentPart {
  readonly content?: ByName<Exemplified>;
}
interface Reference {
  readonly $ref: string;
}

export interface DocumentedParameter extends DocumentedContent {
  readonly name: string;
  readonly place: 'query' | 'header';
  readonly isRequired: boolean;
  readonly description: string;
}

interface DocumentedContent {
  readonly schema: ContractSchema;
  /** Undefined when there is none. */
  readonly example: unknown;
}

export interface DocumentedOperation {
  readonly name: string;
  /** The HTTP method in lowercase. */
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Whether calls need keys. False for the paths of the service itself, such as /healthz. */
  readonly needsKeys: boolean;
  readonly isWrite: boolean;
  /** Parameters of the query and headers, without credentials. */
  readonly parameters: readonly DocumentedParameter[];
  readonly body: DocumentedContent | undefined;
  /** The content of a response by HTTP status; undefined for a response without a body. */
  readonly answers: ByName<DocumentedContent | undefined>;
}

/** Lists the operations in the order of the document. Resolves references to parameters and responses. */
export function readOperations({ paths, components }: Contract): DocumentedOperation[] {
  const parameterOf = (part: ParameterPart | Reference): DocumentedParameter => {
    const found = '$ref' in part ? components.parameters[lastName(part.$ref)]! : part;
    const { name, in: place, required: isRequired = false, description = '' } = found;
    return { name, place, isRequired, description, ...exemplify(found) };
  };
  const contentOf = (part: ContentPart | Reference): DocumentedContent | undefined => {
    const { content } = '$ref' in part ? components.responses[lastName(part.$ref)]! : part;
    return content && exemplify(content['application/json']!);
  };
  const readOperation = (path: string, method: string, operation: OperationPart): DocumentedOperation => {
    const { operationId: name, summary, description = '', tags, security, requestBody, responses } = operation;
    const parameters = (operation.parameters ?? []).map(parameterOf);
    const answers = Object.entries(responses).map(([status, response]) => [status, contentOf(response)]);
    return {
      name,
      method,
      path,
      tag: tags[0]!,
      summary,
      description,
      parameters,
      needsKeys: security === undefined,
      isWrite: parameters.some((parameter) => parameter.name === 'Idempotency-Key'),
      body: requestBody && contentOf(requestBody),
      answers: Object.fromEntries(answers) as DocumentedOperation['answers'],
    };
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(path, method, operation)),
  );
}

const exemplify = ({ schema, example }: Exemplified): DocumentedContent => ({ schema, example });

/** Returns the name at the end of a reference: of a schema, a parameter or a response. */
export const lastName = (reference: string): string => reference.split('/').at(-1)!;
