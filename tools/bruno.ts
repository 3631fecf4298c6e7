/**
 * A collection of all operations for Bruno (https://www.usebruno.com), made from the contract. Keys come from the
 * environment of whoever sends a request. Format: https://docs.usebruno.com/bru-lang/tag-reference.
 */

/** The parts of the contract that the collection is made of, without references. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, Exemplified>>;
interface Exemplified {
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Parameter extends Exemplified {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}
interface Contract {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const ROOT = 'examples/bruno';
/** What Bruno fills in where a request has an example of it. */
const FILLED: Readonly<Record<string, string>> = { teamID: '{{teamID}}', 'Idempotency-Key': '{{$guid}}' };
const LOCK_CODE = 'LINE_REF_LOCK_CODE';

/** The text of each file of the collection. */
export function renderBruno(document: object): Record<string, string> {
  const contract = inlineRefs(document, document) as Contract;
  const files: Record<string, string> = {
    'bruno.json': `${JSON.stringify({ version: '1', name: contract.info.title, type: 'collection' }, null, 2)}\n`,
    'collection.bru': join(
      block('auth', ['mode: basic']),
      block('auth:basic', ['username: {{process.env.API_ID}}', 'password: {{process.env.API_SECRET}}']),
    ),
    'environments/Demo.bru': block('vars', ['origin: http://127.0.0.1:8080', 'teamID: demo']),
  };
  const operations = Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  for (const { method, path, operation } of operations) {
    const tag = operation.tags[0]!;
    const seq = Object.keys(files).filter((file) => file.startsWith(`${tag}/`)).length + 1;
    files[`${tag}/${operation.operationId}.bru`] = renderRequest(method, path, operation, seq);
  }
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`${ROOT}/${file}`, text]));
}

function renderRequest(method: string, path: string, operation: Operation, seq: number): string {
  const { operationId, summary, description, parameters = [], requestBody, responses, security } = operation;
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const headers = parameters.filter((parameter) => parameter.in === 'header');
  const sent = query.filter(isSent).map((one) => `${one.name}=${valueOf(one)}`);
  const body = requestBody && exampleOf(requestBody.content['application/json']);
  const answer = exampleOf(responses['200']?.content?.['application/json']) as { data?: Record<string, unknown> };
  const makesLine = method === 'put' && answer.data?.[LOCK_CODE] !== undefined;
  return join(
    block('meta', [`name: ${operationId}`, 'type: http', `seq: ${seq}`]),
    block(method, [
      `url: {{origin}}${path}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
      `body: ${body === undefined ? 'none' : 'json'}`,
      `auth: ${security?.length === 0 ? 'none' : 'inherit'}`,
    ]),
    block('params:query', query.map(formatParameter)),
    block('headers', headers.map(formatParameter)),
    body === undefined ? '' : block('body:json', fillIn(JSON.stringify(body, null, 2)).split('\n')),
    makesLine ? block('vars:post-response', [`lockCode: res.body.data.${LOCK_CODE}`]) : '',
    block('settings', ['encodeUrl: false']),
    block('docs', [`${summary}.`, ...(description === undefined ? [] : ['', description])]),
  );
}

/** A line that is there is named by the code that its making answered. */
const fillIn = (body: string): string => body.replace(new RegExp(`("${LOCK_CODE}": )"[^"]*"`, 'g'), '$1"{{lockCode}}"');

const isSent = ({ name, required }: Parameter): boolean => required === true || name === 'teamID';
const formatParameter = (one: Parameter): string => `${isSent(one) ? '' : '~'}${one.name}: ${valueOf(one)}`;
const valueOf = (one: Parameter): string => {
  const example = exampleOf(one) as string | number | undefined;
  return FILLED[one.name] ?? encodeURIComponent(example ?? '');
};
const exampleOf = (one: Exemplified | undefined): unknown => Object.values(one?.examples ?? {})[0]?.value;

const block = (name: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `${name} {\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n}\n`;
const join = (...blocks: string[]): string => blocks.filter((text) => text !== '').join('\n');

/** What a `$ref` names stands in its place. Schemas are left out: nothing here reads them. */
function inlineRefs(document: object, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inlineRefs(document, item));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => name !== 'schema' && name !== 'schemas')
        .map(([name, member]) => [name, inlineRefs(document, member)]),
    );
  const path = $ref.slice(2).split('/');
  return inlineRefs(
    document,
    path.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document),
  );
}
