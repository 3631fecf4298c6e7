/** Tests that the Bruno collection has every operation, works with the demo tenant unchanged, and contains no key. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownService } from './kit/service.ts';

const FOLDER = join(import.meta.dirname, '../examples/bruno');

interface Request {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  readonly hasKeys: boolean;
  /** A variable that later requests use, and its path in the answer. */
  readonly kept: [name: string, path: string] | undefined;
}

const service = await ownService({ env: { STOREROOM_DEMO: 'on' } });
const made = (await service.command(...'keys create demo --name office --scope office --json'.split(' '))).json();
const keys = `${made.apiID}:${made.apiSecret}`;

/** Returns the blocks of a file by name. Their lines are indented by two spaces. */
function readBlocks(file: string): Map<string, string> {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  const blocks = text.matchAll(/^([a-z:-]+) \{\n([\s\S]*?)^\}$/gm);
  return new Map([...blocks].map(([, name = '', lines = '']) => [name, lines.replaceAll(/^ {2}/gm, '')]));
}

const valueOf = (lines: string | undefined, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(lines ?? '')?.[1];

function readRequest(file: string): Request & { readonly seq: number } {
  const blocks = readBlocks(file);
  const method = ['get', 'put', 'post'].find((one) => blocks.has(one))!;
  const [, name, path] = /^(\w+): res\.body\.(.+)$/m.exec(blocks.get('vars:post-response') ?? '') ?? [];
  return {
    name: valueOf(blocks.get('meta'), 'name')!,
    seq: Number(valueOf(blocks.get('meta'), 'seq')),
    method: method.toUpperCase(),
    url: valueOf(blocks.get(method), 'url')!,
    body: blocks.get('body:json'),
    hasKeys: valueOf(blocks.get(method), 'auth') === 'inherit',
    kept: name === undefined ? undefined : [name, path!],
  };
}

const folders = new Set(globSync('*/*.bru', { cwd: FOLDER }).map((file) => file.split('/')[0]!));
folders.delete('environments');
const requests = [...folders].toSorted().flatMap((folder) =>
  globSync(`${folder}/*.bru`, { cwd: FOLDER })
    .map(readRequest)
    .toSorted((a, b) => a.seq - b.seq),
);

test('the collection has every operation of the contract once, under its name, method and path', async () => {
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  );
  const collected = requests.map(({ name, method, url }) => `${name} ${method} ${url.replace(/\?.*/, '').slice(10)}`);
  assert.deepEqual(collected.toSorted(), described.toSorted());
});

test('sent from first to last, every request gets 200 from the demo tenant', async () => {
  const variables = new Map([['teamID', 'demo']]);
  for (const line of readBlocks('environments/Demo.bru').get('vars')!.split('\n')) {
    const [, name, value] = /^(\w+): (.*)$/.exec(line) ?? [];
    if (name !== undefined) variables.set(name, value!);
  }
  variables.set('origin', service.origin);
  const fillIn = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      assert.ok(variables.has(name), name);
      return variables.get(name)!;
    });
  for (const { name, method, url, body, hasKeys, kept } of requests) {
    const response = await fetch(fillIn(url), {
      method,
      headers: {
        ...(hasKeys && { authorization: `Basic ${Buffer.from(keys).toString('base64')}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: fillIn(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${name}: ${text}`);
    if (!kept) continue;
    const value = kept[1].split('.').reduce<unknown>((part, key) => (part as never)[key], JSON.parse(text));
    variables.set(kept[0], String(value));
  }
});

test('keys are read from the environment of the sender and are in no file', () => {
  const auth = readBlocks('collection.bru').get('auth:basic')!;
  assert.equal(valueOf(auth, 'username'), '{{process.env.API_ID}}');
  assert.equal(valueOf(auth, 'password'), '{{process.env.API_SECRET}}');
  for (const file of globSync('**/*', { cwd: FOLDER, withFileTypes: true }))
    if (file.isFile()) assert.doesNotMatch(readFileSync(join(file.parentPath, file.name), 'utf8'), /sr_(id|sk)_\w/);
});
