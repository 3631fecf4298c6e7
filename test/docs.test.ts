/**
 * Tests that the documents are true: the `sh` blocks of each run in one shell against one service with the demo tenant,
 * and print what is shown after them. Commands in `console` blocks cannot run here, but they, and all other names, must
 * exist.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { CLIENT_VARIABLES } from '../mcp/src/options.ts';
import { SETTINGS } from '../src/config.ts';
import { ERRORS } from '../src/errors.ts';
import { OPERATION_SCOPES } from '../src/http/operations/names.ts';
import { BODY_BYTES_MAX } from '../src/http/server/receive.ts';
import { FILTERS_MAX, FILTER_VALUE_CHARACTERS_MAX } from '../src/pims/rules/record-bounds.ts';
import { FIELDS_MAX, KEY_CHARACTERS_MAX, VALUE_CHARACTERS_MAX } from '../src/pims/rules/record-bounds.ts';
import { DICTIONARY_MAX } from '../src/pims/rules/fields.ts';
import { installClient } from './kit/client-package.ts';
import { assertShown, findLinks, loadBlocks, readSlugs, type Block } from './kit/documents.ts';
import { clockVariable } from './kit/clock.ts';
import { PROGRAM } from './kit/program.ts';
import { BASE_PATH, Service, temporaryFolder } from './kit/service.ts';
import { IS_THOROUGH } from './kit/trials.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = globSync(
  [
    ...'* docs/**/* demo/**/* test/**/* bench/* examples/* {client*,mcp}/*'.split(' ').map((path) => `${path}.md`),
    'tools/**/README.md',
  ],
  {
    cwd: ROOT,
  },
).toSorted();
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const blocksOf = (file: string, ...languages: string[]): Block[] =>
  loadBlocks(read(file)).filter(({ language }) => languages.includes(language));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function runProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  return new Promise((settle) =>
    execFile(file, args, { cwd: ROOT, env }, (fault, stdout, stderr) =>
      settle({ code: fault === null ? 0 : typeof fault.code === 'number' ? fault.code : 1, stdout, stderr }),
    ),
  );
}

const TRAFFIC_MIB = SETTINGS.trafficBytesMax.default / (1024 * 1024);

suite('commands in the documents', () => {
  const folder = temporaryFolder();
  const shop = join(folder, 'shop');
  let service: Service;
  let keys: string;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    service = await Service.start({ env: { STOREROOM_DEMO: 'on' } });
    keys = /'(sr_id_\w+:sr_sk_\w+)'/.exec(service.output)![1]!;
    // npx takes over a second to find the program in this folder, which test/system/stop.test.ts tests.
    mkdirSync(join(folder, 'bin'));
    mkdirSync(shop);
    const npx = join(folder, 'bin', 'npx');
    writeFileSync(
      npx,
      `#!/bin/sh\n[ "$1 $2" = '--no storeroom' ] || exit 64\nshift 2\nexec ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"\n`,
    );
    chmodSync(npx, 0o755);
    environment = {
      PATH: `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env['PATH']}`,
      TMPDIR: folder,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      BASE: service.origin + BASE_PATH,
      KEYS: keys,
      SHOP: shop,
      STOREROOM_DATA: service.dataFolder,
      PYTHONPATH: join(ROOT, 'client-python'),
      PYTHONDONTWRITEBYTECODE: '1',
      ...clockVariable(0),
    };
    installClient(shop);
  });
  after(() => service.stop());

  const saveFiles = (document: string): void => {
    for (const { file, text } of loadBlocks(read(document)))
      if (file !== undefined) writeFileSync(join(shop, file), text);
  };

  /** Runs the blocks of a document in one shell, and returns what each of them printed. */
  async function runBlocks(file: string): Promise<{ block: Block; printed: string }[]> {
    saveFiles(file);
    const blocks = blocksOf(file, 'sh');
    const name = join(folder, file.replaceAll('/', '-'));
    const parts = blocks.map(({ text }, index) => `{ echo ${index} >'${name}.at'\n${text}\n} >'${name}.${index}'`);
    const { code, stderr } = await runProgram(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', parts.join('\n')],
      environment,
    );
    const at = blocks[Number(readFileSync(`${name}.at`, 'utf8'))]!;
    assert.equal(code, 0, `${file}:${at.line} ended with ${code}: ${stderr}`);
    return blocks.map((block, index) => ({ block, printed: readFileSync(`${name}.${index}`, 'utf8') }));
  }

  // Documents run in the order of their names, because they may contain the numbers of the orders that they make. Only
  // npm run test:all runs the longest; their commands have separate tests.
  const typed = IS_THOROUGH ? /^(README|docs|demo)/ : /^(README|docs\/(?!operations|connect-a-shop)|demo)/;
  for (const file of DOCUMENTS.filter((one) => typed.test(one) && blocksOf(one, 'sh').length > 0))
    test(`${file}: every command runs, and prints the shown response`, async () => {
      const all = loadBlocks(read(file));
      for (const { block, printed } of await runBlocks(file)) {
        const next = all[all.findIndex(({ line }) => line === block.line) + 1];
        if (next?.section === block.section && /^(json|text)$/.test(next.language))
          assertShown(next, printed, `${file}:${next.line}`);
        else
          assert.doesNotMatch(
            printed,
            /"status":"error"/,
            `${file}:${block.line} is answered with an error that the document does not show`,
          );
      }
    });

  let officeKeys: string | undefined;
  /** Makes a pair of the scope `office` once, after the commands of the documents, which list the pairs of the team. */
  async function makeOfficeKeys(): Promise<string> {
    const words = ['keys', 'create', 'demo', '--name', 'office', '--scope', 'office', '--json'];
    const { apiID, apiSecret } = (await service.command(...words)).json() as { apiID: string; apiSecret: string };
    return `${apiID}:${apiSecret}`;
  }

  const PROGRAMS = [
    'docs/keep-a-copy.md',
    'client/README.md',
    'client-python/README.md',
    'docs/ship-return-receive.md',
  ];
  for (const file of PROGRAMS)
    for (const [language, words] of Object.entries({ ts: [process.execPath], python: ['python3', '-B'] }))
      if (blocksOf(file, language).length > 0)
        test(`${file}: its ${language} runs from top to bottom, and prints the shown output`, async () => {
          const all = loadBlocks(read(file));
          const own = all.filter((block) => block.language === language);
          const say = language === 'ts' ? 'console.log' : 'print';
          const [apiID = '', apiSecret = ''] = keys.split(':');
          const program = join(shop, `${file.replaceAll('/', '-')}.${language}`);
          const text = own.map((block) => `${say}('@@@')\n${block.text}`).join('\n');
          writeFileSync(
            program,
            text
              .replaceAll('http://127.0.0.1:8080', service.origin)
              .replaceAll('sr_id_…', apiID)
              .replaceAll('sr_sk_…', apiSecret),
          );
          officeKeys ??= await makeOfficeKeys();
          const env = { ...environment, OFFICE_KEYS: officeKeys };
          const { code, stdout, stderr } = await runProgram(words[0]!, [...words.slice(1), program], env);
          assert.equal(code, 0, `${file}: ${stderr}`);
          const printed = stdout.split('@@@\n').slice(1);
          assert.equal(printed.length, own.length);
          const shown = own.map((block, index) => {
            const following = all.slice(all.indexOf(block) + 1);
            const next = following.find(({ language: other }) => other === 'text' || other === language);
            const isShown = next?.language === 'text' && next.section === block.section;
            return isShown ? next.text : printed[index]!.trimEnd();
          });
          assert.deepEqual(
            printed.map((one) => one.trimEnd()),
            shown,
          );
        });

  test('README shows what a first start prints', () => {
    const [{ text } = { text: '' }] = blocksOf('README.md', 'text');
    const shown = text.replaceAll('127.0.0.1:8080', new URL(service.origin).host);
    assertShown({ language: 'text', text: shown }, service.output, 'README.md');
  });

  test('README says what Storeroom is, and how to start it, in at most 120 words before its picture', () => {
    const [above = ''] = read('README.md').split('<picture>');
    assert.match(above, /\$ git clone .+\n\$ npm ci && npm start\n/);
    const words = above.replace(/\]\([^)]+\)/g, '').match(/\S*\w\S*/g)!.length;
    assert.ok(words <= 120, `${words} words`);
  });

  test("README's first call is the first of the two that a first start prints", () => {
    const [{ text } = { text: '' }] = blocksOf('README.md', 'sh');
    assert.ok(
      service.output.includes(
        text
          .replace('"$KEYS"', `'${keys}'`)
          .replaceAll('"', "'")
          .replace('$BASE', service.origin + BASE_PATH),
      ),
      text,
    );
  });

  test("README's program prints what it shows", async () => {
    saveFiles('README.md');
    const [, shown] = blocksOf('README.md', 'text');
    const { code, stdout, stderr } = await runProgram(process.execPath, [join(shop, 'first.mjs')], environment);
    assert.equal(`${code} ${stderr}`, '0 ');
    assertShown(shown!, stdout, 'first.mjs');
  });
});

suite('names in the documents', () => {
  const TEXTS = [
    ...DOCUMENTS,
    ...globSync(
      ['{src,tools,deploy,examples,client,client-python,mcp,.ci}/**/*', 'compose*.yaml', 'Dockerfile', '*.json'],
      {
        cwd: ROOT,
        exclude: ['**/node_modules/**', '**/dist/**', '**/__pycache__/**'],
      },
    ).filter((file) => statSync(join(ROOT, file)).isFile()),
  ];

  test('no text runs the npm package `storeroom`, which is not ours', () => {
    for (const file of TEXTS)
      assert.doesNotMatch(read(file), /\b(npx|npm (exec|x|i|install)( -\S+)*) storeroom\b/, file);
  });

  // Commands that install from a registry work only after the first release on npm. Remove this test then.
  test('no text installs a package from a registry that does not have it yet', () => {
    for (const file of TEXTS)
      assert.doesNotMatch(
        read(file),
        /\bnpm (i|install|add)\b[^\n`]*@storeroom\/|\bpip install storeroom|"@storeroom\/server"/,
        file,
      );
  });

  for (const file of DOCUMENTS)
    test(`${file}: every link leads somewhere`, () => {
      for (const { target, line } of findLinks(read(file))) {
        const [path = '', anchor] = target.split('#');
        const found = path === '' ? file : join(dirname(file), path);
        assert.ok(existsSync(resolve(ROOT, found)), `${file}:${line} ${target}`);
        if (anchor !== undefined) assert.ok(readSlugs(read(found)).includes(anchor), `${file}:${line} ${target}`);
      }
    });

  test('the balancer of docs/nginx.conf sends every POST that only reads again', () => {
    const { paths } = JSON.parse(read('openapi.json')) as { paths: Record<string, { post?: { operationId: string } }> };
    const listed = new Set(read('docs/nginx.conf').match(/(?<=^  )\/\S+(?= 1;$)/gm));
    const reads = Object.entries(paths).filter(([, { post }]) => {
      const scopes: Readonly<Record<string, string>> = OPERATION_SCOPES;
      return post && scopes[post.operationId] === 'read';
    });
    assert.deepEqual(listed, new Set(reads.map(([path]) => path)));
  });

  test('the README of a package links only to itself and to addresses, because it is published alone', () => {
    for (const file of DOCUMENTS.filter((one) => /^(client.*|mcp|tools\/release\/server)\//.test(one)))
      for (const { target, line } of findLinks(read(file)))
        assert.ok(target.startsWith('#'), `${file}:${line} ${target}`);
  });

  test('every variable a command uses is introduced before it in the same document', () => {
    for (const file of DOCUMENTS) {
      let introduced = '';
      for (const { text, line } of blocksOf(file, 'sh', 'console')) {
        introduced += `${text}\n`;
        for (const [, name] of text.matchAll(/\$\{?(?!PWD\b|PATH\b)([A-Z][A-Z_]+)/g))
          assert.match(introduced, new RegExp(`\\b${name}(=| in )`), `${file}:${line} $${name}`);
      }
    }
  });

  test('every named setting exists', () => {
    const settings = Object.values(SETTINGS).map(({ variable }) => variable);
    const known: string[] = [...settings, ...CLIENT_VARIABLES, `${SETTINGS.databaseUrl.variable}_FILE`, 'STOREROOM_'];
    for (const file of DOCUMENTS)
      for (const [name] of read(file).matchAll(/\bSTOREROOM_(?!TEST_)[A-Z_]*/g))
        assert.ok(known.includes(name), `${file}: ${name}`);
  });

  test('every named storeroom command exists, with its options', () => {
    const reference = read('docs/commands.md').split('\n');
    for (const file of DOCUMENTS)
      for (const { text, line } of blocksOf(file, 'sh', 'console'))
        for (const [, words = ''] of text.matchAll(/\b(?:npx --no storeroom|storeroom\.js) ([a-z][^|&;\n]*)/g)) {
          const [first = '', second = ''] = words.split(' ');
          const row = [`${first} ${second}`, first]
            .map((name) => reference.find((one) => RegExp(`^- \`${name}(\`| [<[])`).test(one)))
            .find((found) => found !== undefined);
          assert.ok(row !== undefined, `${file}:${line} storeroom ${words}`);
          for (const [option] of words.matchAll(/--(?!json\b)[a-z-]+/g))
            assert.ok(row.includes(option), `${file}:${line} storeroom ${words}: ${option}`);
        }
  });

  // Holds S14.1, S14.2.
  test('the list of limits has the numbers of the code', () => {
    const { maxReturnDefault, returnMax } = SETTINGS;
    const most = returnMax.default.toLocaleString('en');
    const rows: Record<string, string> = {
      body: `${BODY_BYTES_MAX / 1024} KiB`,
      'idle connection': `${SETTINGS.keepAliveMs.default / 1000} s`,
      'calls in flight': SETTINGS.inFlightMax.default.toLocaleString('en'),
      'calls of a tenant in flight, once three quarters of all are taken': `${SETTINGS.tenantInFlightMax.default}`,
      'bytes of bodies until their calls are answered, 16 KiB more for each': `${TRAFFIC_MIB} MiB`,
      'bytes of unread responses of all tenants': `${TRAFFIC_MIB} MiB`,
      'bytes of unread responses of a tenant': `${TRAFFIC_MIB / 2} MiB`,
      'fields of a request': `${FIELDS_MAX}`,
      'fields of a record type, custom ones included': `${DICTIONARY_MAX}`,
      'the key of a record: ORDER_NUMBER, CUSTOMER_CODE, PART_CODE': `${KEY_CHARACTERS_MAX} characters`,
      'a value': `${VALUE_CHARACTERS_MAX.toLocaleString('en')} characters`,
      'filters of a query': `${FILTERS_MAX}`,
      'the value of a filter': `${FILTER_VALUE_CHARACTERS_MAX} characters`,
      'records of a page': `${maxReturnDefault.default} when not asked, ${most} at most`,
      'a query': `${SETTINGS.queryBudgetMs.default / 1000} s`,
    };
    const list = read('docs/specification.md').split('\n## Limits\n')[1] ?? '';
    for (const [name, number] of Object.entries(rows))
      assert.ok(list.includes(`\n- ${name}: ${number} (`), `${name}: ${number}`);
  });

  test('every version of the change log begins with what changes for callers', () => {
    const [, ...versions] = read('CHANGELOG.md').split('\n## [');
    for (const text of versions) {
      const [title = '', ...lines] = text.split('\n');
      const [, first = ''] = /^### (.+)$/m.exec(lines.join('\n')) ?? [];
      assert.equal(first, 'For callers', title);
    }
    if (versions.length === 1)
      assert.ok(versions[0]!.trim().split('\n').length <= 60, 'until the first release, say in 60 lines what 0.x is');
  });

  test('every named npm script exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const file of DOCUMENTS)
      for (const [, name = ''] of read(file).matchAll(/\bnpm run ([a-z:-]+)/g))
        assert.ok(name in scripts, `${file}: npm run ${name}`);
  });

  test('every error code of a response is in docs/errors.md, and the other way round', () => {
    const named = [...read('docs/errors.md').matchAll(/^- `([A-Z_]+)`: /gm)].map(([, code = '']) => code);
    assert.deepEqual(named.toSorted(), Object.keys(ERRORS).toSorted());
  });

  // Holds S3.13.
  test('the guide says how to retry the call for every code for which a wait or a change can help', () => {
    const [, table = ''] = read('docs/api-reference.md').split('\n## Retrying a call\n');
    const rows = table.split('\n').filter((line) => line.startsWith('| '));
    const named = rows.flatMap((row) =>
      [...row.split(' | ')[0]!.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code),
    );
    const changing: number[] = [401, 408, 409, 412, 429];
    const wanted = Object.entries(ERRORS)
      .filter(
        ([code, { httpStatus, place }]) =>
          place !== 'dashboard' && (changing.includes(httpStatus) || code === 'LINE_MOVED'),
      )
      .map(([code]) => code);
    assert.deepEqual(named.toSorted(), wanted.toSorted());
    assert.ok(rows.some((row) => row.startsWith('| 5xx | yes |')));
  });

  // `npm run check` compares the whole generated files, and starts every command for that.
  test('every setting is in docs/settings.md with its default', () => {
    const text = read('docs/settings.md');
    for (const { variable, default: fallback } of Object.values(SETTINGS))
      assert.ok(
        text.includes(`\n- \`${variable}\` (${String(fallback) ? `\`${String(fallback)}\`` : 'unset'}; `),
        variable,
      );
  });

  test('docs/architecture.md names every folder of src', () => {
    const text = read('docs/architecture.md');
    for (const folder of globSync('src/**/', { cwd: ROOT })) assert.ok(text.includes(`\`${folder}\``), folder);
  });

  test('every named file of the code exists', () => {
    const code = globSync('{src,test,client/src,mcp/src,dashboard/src,tools,bench,bin}/**/*.{ts,tsx,js,sql}', {
      cwd: ROOT,
    });
    for (const file of DOCUMENTS.filter((one) => one !== 'CHANGELOG.md'))
      for (const [, name = ''] of read(file).matchAll(/`([\w./-]+\.(?:ts|tsx|sql))`/g))
        assert.ok(
          code.some((path) => path === name || path.endsWith(`/${name}`)),
          `${file}: ${name}`,
        );
  });
});

suite('decision records', () => {
  const records = DOCUMENTS.filter((file) => /^docs\/decisions\/\d/.test(file));
  const numberOf = (file: string): string => /\d{4}/.exec(file)![0];

  for (const file of records)
    test(`${file} has its five headings in order and at most 60 lines`, () => {
      const text = read(file);
      assert.match(text, new RegExp(`^# ${numberOf(file)} `));
      assert.deepEqual(
        [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading),
        ['Context', 'Decision', 'Rejected', 'Consequences', 'Revisit when'],
      );
      assert.ok(text.split('\n').length <= 61, `${text.split('\n').length - 1} lines`);
    });

  test('are each in docs/decisions/README.md, which says for every other number where its subject continues', () => {
    const lines = read('docs/decisions/README.md').split('\n');
    const inForce = lines.flatMap((line) => /^- \[(\d{4})\]\(([^)]+)\) /.exec(line)?.slice(1, 3).join(' ') ?? []);
    assert.deepEqual(
      inForce,
      records.map((file) => `${numberOf(file)} ${file.slice('docs/decisions/'.length)}`),
    );
    assert.ok(inForce.length <= 35, 'merge records that tell one story');
    const superseded = lines
      .filter((line) => /^- \[\d{4}\]\([^)]+\): /.test(line))
      .flatMap((line) => [...line.matchAll(/[:,] (\d{4}) /g)].map(([, number]) => number!));
    const numbers = [...records.map(numberOf), ...superseded].toSorted();
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => String(index + 1).padStart(4, '0')),
    );
  });

  test('that the code refers to exist', () => {
    for (const file of globSync(['src/**/*', 'test/**/*.ts', 'bench/*.ts', 'tools/*'], { cwd: ROOT }).filter((path) =>
      /\.(ts|js|sql)$/.test(path),
    ))
      for (const [found, number] of read(file).matchAll(/decisions?[/ ](\d{4})/g))
        assert.ok(
          records.some((record) => numberOf(record) === number),
          `${file}: ${found}`,
        );
  });

  test('name every runtime dependency', () => {
    const names = ['package.json', 'mcp/package.json'].flatMap((file) => {
      const { dependencies, optionalDependencies } = JSON.parse(read(file)) as Record<string, Record<string, string>>;
      return Object.keys({ ...dependencies, ...optionalDependencies });
    });
    const [record = ''] = records.filter((file) => numberOf(file) === '0014');
    for (const name of names) assert.ok(read(record).includes(`\`${name}\``), name);
  });
});
