/**
 * Makes a collection of all operations for Bruno (https://www.usebruno.com) from the contract. Bruno reads the keys
 * from the environment. Format: https://docs.usebruno.com/bru-lang/tag-reference.
 */
import {
  readOperations,
  type Contract,
  type DocumentedOperation,
  type DocumentedParameter,
} from '../src/http/contract/documented-operations.ts';

const ROOT = 'examples/bruno';
/** Values that Bruno fills in, by the name of the parameter. */
const FILLED: Readonly<Record<string, string>> = { teamID: '{{teamID}}', 'Idempotency-Key': '{{$guid}}' };
const LOCK_CODE = 'LINE_REF_LOCK_CODE';

/** Returns the text of each file of the collection, by its path. */
export function renderBruno(contract: Contract): Record<string, string> {
  const files: Record<string, string> = {
    'bruno.json': `${JSON.stringify({ version: '1', name: contract.info.title, type: 'collection' }, null, 2)}\n`,
    'collection.bru': join(
      block('auth', ['mode: basic']),
      block('auth:basic', ['username: {{process.env.API_ID}}', 'password: {{process.env.API_SECRET}}']),
    ),
    'environments/Demo.bru': block('vars', ['origin: http://127.0.0.1:8080', 'teamID: demo']),
  };
  for (const operation of readOperations(contract)) {
    const { tag, name } = operation;
    const seq = Object.keys(files).filter((file) => file.startsWith(`${tag}/`)).length + 1;
    files[`${tag}/${name}.bru`] = renderRequest(operation, seq);
  }
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`${ROOT}/${file}`, text]));
}

function renderRequest(operation: DocumentedOperation, seq: number): string {
  const { name, method, path, summary, description, parameters, body, answers, needsKeys } = operation;
  const query = parameters.filter(({ place }) => place === 'query');
  const headers = parameters.filter(({ place }) => place === 'header');
  const sent = query.filter(isSent).map((one) => `${one.name}=${valueOf(one)}`);
  const answer = answers['200']!.example as { data?: Record<string, unknown> };
  const makesLine = method === 'put' && answer.data?.[LOCK_CODE] !== undefined;
  return join(
    block('meta', [`name: ${name}`, 'type: http', `seq: ${seq}`]),
    block(method, [
      `url: {{origin}}${path}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
      `body: ${body ? 'json' : 'none'}`,
      `auth: ${needsKeys ? 'inherit' : 'none'}`,
    ]),
    block('params:query', query.map(formatParameter)),
    block('headers', headers.map(formatParameter)),
    body ? block('body:json', fillIn(JSON.stringify(body.example, null, 2)).split('\n')) : '',
    makesLine ? block('vars:post-response', [`lockCode: res.body.data.${LOCK_CODE}`]) : '',
    block('settings', ['encodeUrl: false']),
    block('docs', [`${summary}.`, ...(description === '' ? [] : ['', description])]),
  );
}

/** Replaces the lock code by a variable with the lock code of the line that `addLineItem` has added. */
const fillIn = (body: string): string => body.replace(new RegExp(`("${LOCK_CODE}": )"[^"]*"`, 'g'), '$1"{{lockCode}}"');

const isSent = ({ name, isRequired }: DocumentedParameter): boolean => isRequired || name === 'teamID';
const formatParameter = (one: DocumentedParameter): string => `${isSent(one) ? '' : '~'}${one.name}: ${valueOf(one)}`;
const valueOf = ({ name, example }: DocumentedParameter): string =>
  FILLED[name] ?? encodeURIComponent((example as string | number | undefined) ?? '');

const block = (name: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `${name} {\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n}\n`;
const join = (...blocks: string[]): string => blocks.filter((text) => text !== '').join('\n');
