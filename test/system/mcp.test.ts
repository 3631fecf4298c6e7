/** Tests `storeroom mcp` with the clients of the official SDK, over standard input and output and over HTTP. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Tool, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { valuesOf } from '../kit/lists.ts';
import { PROGRAM } from '../kit/program.ts';
import { createOrder } from '../kit/orders.ts';
import { ownService, runCommand, temporaryFolder, type Keys, type Service } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const NEWEST = '2026-07-28';
const [COMMAND, ...BEFORE] = PROGRAM;
/** Code that hides the protocol from a process, as if its package were not installed. */
const WITHOUT_SDK = `import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (!name.startsWith('@modelcontextprotocol')) return next(name, context);
  throw Object.assign(new Error('loaded ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
} });`;

// Only `storeroom mcp` may load the protocol; the service may not.
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(WITHOUT_SDK)}`;
const starting = ownService({ env: { NODE_OPTIONS } });
let service: Service;
let keys: Keys;
before(async () => {
  service = await starting;
  keys = await service.makeTenant('acme');
});

const envOf = ({ teamID, apiID, apiSecret }: Keys): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  STOREROOM_URL: service.origin,
  STOREROOM_TEAM_ID: teamID,
  STOREROOM_API_ID: apiID,
  STOREROOM_API_SECRET: apiSecret,
});

class Agent {
  readonly #client: Client;
  /** The texts of all answers so far. */
  told = '';
  calls = 0;

  /** Creates an agent that speaks only this version of the protocol, or without one, the versions before the newest. */
  constructor(version?: string) {
    const mode = version === undefined ? 'legacy' : { pin: version };
    this.#client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  }

  static async connect(transport: Transport, version?: string): Promise<Agent> {
    const agent = new Agent(version);
    await agent.#client.connect(transport);
    after(() => agent.#client.close());
    return agent;
  }

  static start(options: string, of: Keys = keys, env: Record<string, string> = {}): Promise<Agent> {
    const args = [...BEFORE, 'mcp', ...options.split(' ').filter(Boolean)];
    return Agent.connect(new StdioClientTransport({ command: COMMAND, args, env: { ...envOf(of), ...env } }));
  }

  get version(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  get capabilities(): object | undefined {
    return this.#client.getServerCapabilities();
  }

  async listTools(): Promise<Tool[]> {
    return (await this.#client.listTools()).tools;
  }

  async readResource(uri: string): Promise<unknown> {
    const { resources } = await this.#client.listResources();
    assert.ok(resources.some((resource) => resource.uri === uri));
    const { contents } = await this.#client.readResource({ uri });
    return JSON.parse((contents[0] as { text: string }).text);
  }

  /** Calls a tool, and returns the text of its answer. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<{ text: string; isError: boolean }> {
    const { content, isError } = await this.#client.callTool({ name, arguments: args });
    const { text } = (content as { text: string }[])[0]!;
    this.told += text;
    this.calls++;
    return { text, isError: isError === true };
  }

  // eslint-disable-next-line typescript/no-explicit-any -- tests look into it freely
  async ask(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { text, isError } = await this.call(name, args);
    assert.ok(!isError, text);
    return JSON.parse(text);
  }

  async refused(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { text, isError } = await this.call(name, args);
    assert.ok(isError, text);
    return text;
  }
}

interface Described {
  operationId: string;
  tags: string[];
  parameters?: { $ref?: string }[];
}

suite('tools', () => {
  let operations: Described[];
  const isWrite = ({ parameters = [] }: Described): boolean =>
    parameters.some(({ $ref }) => $ref?.endsWith('Idempotency-Key'));
  before(async () => {
    const contract = (await (await fetch(`${service.origin}/openapi.json`)).json()) as { paths: object };
    operations = Object.values(contract.paths)
      .flatMap((methods) => Object.values(methods as object) as Described[])
      .filter(({ tags }) => !tags.includes('Service'));
  });

  test('are the operations of the contract that read, and with --write all', async () => {
    const all = valuesOf(operations, 'operationId');
    const reads = valuesOf(
      operations.filter((one) => !isWrite(one)),
      'operationId',
    );
    assert.ok(reads.length > 5 && all.length > reads.length + 5);
    const [reader, writer] = [await Agent.start(''), await Agent.start('--write')];
    assert.deepEqual(valuesOf(await reader.listTools(), 'name'), reads);
    const tools = await writer.listTools();
    assert.deepEqual(valuesOf(tools, 'name'), all);
    for (const { name, annotations } of tools) assert.equal(annotations!.readOnlyHint, reads.includes(name), name);
  });

  test('each returns the response of its operation, and is counted under its name', async () => {
    const agent = await Agent.start('--write');
    const was = await service.usageOf('acme');
    const called = new Set<string>();
    // eslint-disable-next-line typescript/no-explicit-any -- tests look into it freely
    const ask = async (name: string, args: Record<string, unknown> = {}): Promise<any> => {
      called.add(name);
      return agent.ask(name, args);
    };
    const { data: code } = await ask('createCustomer', { body: { CUSTOMER_NAME: 'Harbour Lane' } });
    const { data: number } = await ask('createOrder', {
      body: { CUSTOMER_CODE: code, REFERENCE_NUMBER: '#1' },
      idempotencyKey: 'k-1',
    });
    const again = await ask('createOrder', {
      body: { CUSTOMER_CODE: code, REFERENCE_NUMBER: '#1' },
      idempotencyKey: 'k-1',
    });
    assert.equal(again.data, number);
    const { data: line } = await ask('addLineItem', { body: { ORDER_NUMBER: number, PART_CODE: 'P1', QUANTITY: 2 } });
    const lock = line.LINE_REF_LOCK_CODE as string;
    await ask('updateLineItem', { body: { ORDER_NUMBER: number, LINE_REF_LOCK_CODE: lock, QUANTITY: 3 } });
    const { etag } = await ask('getOrder', { orderNum: number, fields: 'ORDER_NUMBER' });
    await ask('updateOrder', { body: { ORDER_NUMBER: number, NOTES: 'by hand' }, ifMatch: etag });
    assert.match(
      await agent.refused('updateOrder', { body: { ORDER_NUMBER: number, NOTES: 'late' }, ifMatch: etag }),
      /^RECORD_CHANGED: /,
    );
    await ask('updateCustomer', { body: { CUSTOMER_CODE: code, BCITY: 'Reims' } });
    const { data } = await ask('batch', { body: [{ operation: 'createOrder', body: {} }] });
    await ask('cancelOrder', { body: { ORDER_NUMBER: data[0].data } });
    const order = await ask('getOrder', { orderNum: number });
    assert.deepEqual([order.data.NOTES, order.subRecords[0].ORDER_LINEITEMS.QUANTITY], ['by hand', '3']);
    const filters = [{ field: 'CUSTOMER_CODE', value: code }];
    const page = await ask('queryOrders', { body: filters, count: 'exact', include: 'lines' });
    assert.deepEqual([page.totalCount, page.data.length, page.subRecords.length], [1, 1, 1]);
    assert.equal((await ask('queryLines', { body: [{ field: 'PART_CODE', value: 'P1' }] })).data[0].QUANTITY, '3');
    assert.equal((await ask('queryCustomers', { body: filters })).data[0].BCITY, 'Reims');
    assert.equal((await ask('getCustomer', { customerCode: code })).data.CUSTOMER_NAME, 'Harbour Lane');
    assert.deepEqual((await ask('queryInventoryItems', { body: [] })).data, []);
    called.add('getInventoryItem');
    assert.match(
      await agent.refused('getInventoryItem', { partCode: 'P1' }),
      /^NOT_FOUND: .*\nWhat to do: Check the key/,
    );
    assert.equal(
      (await ask('findOrdersByStorefrontReference', { storefront_order_number: '#1' })).data.orders.length,
      1,
    );
    assert.equal((await ask('findOrdersByStorefrontReferences', { body: ['#1', '#2'] })).data.length, 2);
    assert.ok((await ask('listFields', { type: 'orders' })).data.length > 10);
    const { data: changes, nextAfter } = await ask('listChanges', { after: '0' });
    assert.equal(nextAfter, changes.at(-1).seq);
    assert.match(await agent.refused('approveOrder', { body: { ORDER_NUMBER: number } }), /^SCOPE_MISSING: /);
    const pair = await service.command('keys', 'create', 'acme', '--name', 'office', '--scope', 'office', '--json');
    const office = await Agent.start('--write', { ...keys, ...(pair.json() as Keys) });
    // eslint-disable-next-line typescript/no-explicit-any -- tests look into it freely
    const handle = async (name: string, body: Record<string, unknown>): Promise<any> => {
      called.add(name);
      return (await office.ask(name, { body })).data;
    };
    assert.equal(await handle('createPart', { PART_CODE: 'P1' }), 'P1');
    assert.equal(await handle('updatePart', { PART_CODE: 'P1', UNIT_PRICE: 2 }), 'P1');
    assert.equal((await handle('receiveStock', { PART_CODE: 'P1', QUANTITY: 5 })).QTY_ONHAND, '5');
    assert.equal((await handle('countStock', { PART_CODE: 'P1', QUANTITY: 4 })).QTY_ONHAND, '4');
    const broken = { PART_CODE: 'P1', QUANTITY: -1, REASON: 'broken' };
    assert.equal((await handle('adjustStock', broken)).QTY_ONHAND, '3');
    assert.equal((await ask('listMovements', { partCode: 'P1' })).data.at(-1).REASON, 'broken');
    assert.equal((await handle('approveOrder', { ORDER_NUMBER: number })).ORDER_TYPE, 'sales_order');
    const lines = [{ LINE_REF_LOCK_CODE: lock, QUANTITY: 1 }];
    assert.equal((await handle('invoiceOrder', { ORDER_NUMBER: number, lines })).ORDER_TYPE, 'invoice');
    const back = (await handle('returnOrder', { ORDER_NUMBER: number, lines })) as string;
    for (const ORDER_NUMBER of [back, number])
      assert.equal((await handle('voidInvoice', { ORDER_NUMBER })).ORDER_STATUS, 'VOID');
    const usage = await ask('getUsage');
    assert.deepEqual([...called].toSorted(), valuesOf(operations, 'operationId').toSorted());
    assert.equal(await service.usageOf('acme'), was + agent.calls + office.calls, JSON.stringify(usage));
    assert.ok(!agent.told.includes(keys.apiSecret));
  });
});

suite('refusals and bounds', () => {
  test('a write is refused without --write, and nothing is written', async () => {
    const agent = await Agent.start('');
    const was = await service.usageOf('acme');
    const told = await agent.refused('createOrder', { body: { NOTES: 'x' } });
    assert.match(told, /createOrder writes, and this server is read-only\. .*--write/);
    assert.equal(await service.usageOf('acme'), was);
    await assert.rejects(agent.call('dropOrders'), /There is no tool dropOrders/);
  });

  test('errors have code, field and what to do; an error for an unknown argument lists the known ones', async () => {
    const agent = await Agent.start('');
    const unknown = await agent.refused('queryOrders', { body: [{ field: 'SHIP_VAI', value: 'x' }] });
    assert.match(
      unknown,
      /^UNKNOWN_FIELD: .*\nWhat to do: Correct the name; .*\nfield: SHIP_VAI, suggestion: SHIP_VIA, requestId: /,
    );
    assert.match(
      await agent.refused('getOrder', { order: '1' }),
      /^UNKNOWN_PARAMETER: getOrder has no argument 'order'\. Known arguments: orderNum, fields\.$/,
    );
    assert.match(await agent.refused('getOrder'), /^MISSING_PARAMETER: /);
  });

  test('an error for wrong keys names their variables, and one for an unreachable service its address', async () => {
    const wrong = { ...keys, apiSecret: 'sr_sk_wrong-and-secret' };
    const told = await (await Agent.start('', wrong)).refused('getOrder', { orderNum: '1' });
    assert.match(
      told,
      /^INVALID_CREDENTIALS: .*\nWhat to do: .*STOREROOM_TEAM_ID, STOREROOM_API_ID, STOREROOM_API_SECRET/,
    );
    assert.ok(!told.includes('wrong-and-secret'));
    const away = await Agent.start('--write', keys, { STOREROOM_URL: 'http://127.0.0.1:1' });
    assert.match(
      await away.refused('createOrder', { body: {}, idempotencyKey: 'mine' }),
      /^NO_ANSWER: .*127\.0\.0\.1:1.*\nWhat to do: .*STOREROOM_URL.*\nThe outcome of the call is unknown\. .* idempotencyKey "mine"\.$/,
    );
    const { code, stderr } = await runCommand('', ['mcp'], {
      env: { STOREROOM_TEAM_ID: 'acme', STOREROOM_API_ID: '' },
    });
    assert.equal(code, 1);
    assert.match(stderr, /^storeroom: Set STOREROOM_API_ID, STOREROOM_API_SECRET: .*\n$/);
  });

  test('a response is cut to --max-bytes and says how to get the rest, which has every other record once', async () => {
    const numbers: string[] = [];
    for (let count = 0; count < 12; count++)
      numbers.push(
        (await createOrder(service, keys, { REFERENCE_NUMBER: 'big', NOTES: `${count} ${'é"'.repeat(400)}` })).body
          .data,
      );
    const bytesMax = 8000;
    const agent = await Agent.start(`--max-bytes ${bytesMax}`);
    const filters = { body: [{ field: 'REFERENCE_NUMBER', value: 'big' }] };
    const { text } = await agent.call('queryOrders', filters);
    assert.ok(Buffer.byteLength(text) <= bytesMax && Buffer.byteLength(text) > bytesMax / 2, text);
    const { data, cut, howToGetTheRest } = JSON.parse(text);
    assert.deepEqual(cut.lists, [{ list: 'data', shown: data.length, of: 12 }]);
    const maxReturn = /maxReturn "(\d+)"/.exec(howToGetTheRest as string)![1]!;
    const found: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await agent.ask('queryOrders', { ...filters, maxReturn, ...(cursor !== undefined && { cursor }) });
      assert.equal(page.cut, undefined);
      found.push(...valuesOf(page.data as { ORDER_NUMBER: string }[], 'ORDER_NUMBER'));
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    assert.deepEqual(found.toSorted(), numbers.toSorted());
  });

  test('the server ends with 0 when standard input closes', async () => {
    const child = spawn(COMMAND, [...BEFORE, 'mcp'], { env: envOf(keys), stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await once(child.stdout, 'data');
    child.stdin.end();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});

test('an error names a port that another program uses, with what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const child = spawn(COMMAND, [...BEFORE, 'mcp', '--http', `${port}`], {
    env: envOf(keys),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, [code]] = await Promise.all([readText(child.stderr), once(child, 'exit')]);
  assert.match(`${code} ${said}`, new RegExp(`^1 .*--http is ${port}, and another program listens on it.*0 chooses`));
  other.close();
});

suite('over HTTP', () => {
  let url: URL;
  let child: ChildProcessByStdio<null, Readable, null>;
  before(async () => {
    const words = [...BEFORE, 'mcp', '--http', '0'];
    child = spawn(COMMAND, words, { env: envOf(keys), stdio: ['ignore', 'pipe', 'inherit'] });
    url = new URL(String((await once(child.stdout, 'data'))[0]).trim());
  });
  after(async () => {
    child.kill();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  /** Returns the status of a call with these headers. */
  async function statusOf(headers: Record<string, string>, method = 'POST', path = '/mcp'): Promise<number> {
    const sent = request({
      host: '127.0.0.1',
      port: url.port,
      path,
      method,
      headers: { 'content-type': 'application/json', ...headers },
    });
    sent.setHeader('accept', 'application/json, text/event-stream');
    sent.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : undefined);
    const [answer] = (await once(sent, 'response')) as [{ statusCode: number; resume: () => void }];
    answer.resume();
    return answer.statusCode;
  }

  test('tools and resources are the same for new and old protocols, on this machine only', async () => {
    assert.equal(url.hostname, '127.0.0.1');
    const stdio = await Agent.start('');
    const tools = await stdio.listTools();
    for (const version of [NEWEST, undefined]) {
      const agent = await Agent.connect(new StreamableHTTPClientTransport(url), version);
      assert.equal(agent.version, version ?? stdio.version);
      assert.deepEqual(agent.capabilities, { tools: { listChanged: false }, resources: { listChanged: false } });
      assert.deepEqual(await agent.listTools(), tools);
      assert.ok(Array.isArray((await agent.ask('queryOrders', { body: [] })).data));
      assert.match(await agent.refused('createOrder', { body: {} }), /this server is read-only/);
      assert.ok('NOT_FOUND' in ((await agent.readResource('storeroom://errors.json')) as object));
      assert.ok('paths' in ((await agent.readResource('storeroom://openapi.json')) as object));
    }
  });

  test('403 another Host or Origin, as a page of a browser sends it; 404 another path, 405 another method', async () => {
    assert.equal(await statusOf({}), 200);
    assert.equal(await statusOf({ host: `localhost:${url.port}`, origin: `http://localhost:${url.port}` }), 200);
    for (const host of ['evil.example', `evil.example:${url.port}`, '127.0.0.1', `127.0.0.1.evil.example:${url.port}`])
      assert.equal(await statusOf({ host }), 403, host);
    for (const origin of ['http://evil.example', 'null', 'http://localhost:1', `https://evil.example:${url.port}`])
      assert.equal(await statusOf({ origin }), 403, origin);
    assert.equal(await statusOf({}, 'POST', '/'), 404);
    assert.equal(await statusOf({}, 'GET'), 405);
  });
});

suite('the package', () => {
  const folder = join(temporaryFolder(), 'node_modules');
  const installed = join(folder, '@storeroom/mcp');
  const command = join(installed, 'dist/main.js');
  const run = (...words: string[]) => spawnSync(process.execPath, [command, ...words], { encoding: 'utf8', env: {} });
  before(() => {
    mkdirSync(installed, { recursive: true });
    cpSync(join(ROOT, 'mcp/package.json'), join(installed, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules/@modelcontextprotocol'), join(folder, '@modelcontextprotocol'));
    execFileSync(process.execPath, [join(ROOT, 'tools/build/mcp.ts'), join(installed, 'dist')]);
  });

  test('has a command with the tools of `storeroom mcp`, which speaks the newest protocol', async () => {
    const words = { command: process.execPath, args: [command, '--write'], env: envOf(keys) };
    const agent = await Agent.connect(new StdioClientTransport(words), NEWEST);
    assert.equal(agent.version, NEWEST);
    assert.deepEqual(await agent.listTools(), await (await Agent.start('--write')).listTools());
    const { data: number } = await agent.ask('createOrder', { body: { REFERENCE_NUMBER: '#package' } });
    assert.equal((await agent.ask('getOrder', { orderNum: number })).data.REFERENCE_NUMBER, '#package');
  });

  test('its command prints its version and help, and says what is missing or wrong', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    assert.equal(run('--version').stdout, `${version}\n`);
    assert.match(run('--help').stdout, /--write .*\n.*--http <port> .*\n.*--max-bytes <bytes> .*40000/);
    const refusals: [words: string[], status: number, sentence: RegExp][] = [
      [[], 1, /^storeroom-mcp: Set STOREROOM_TEAM_ID, STOREROOM_API_ID, STOREROOM_API_SECRET: .*\n$/],
      [
        ['--max-bytes', '10'],
        2,
        /^storeroom-mcp: --max-bytes <bytes> must be a whole number from 2000 to 10000000\.\n$/,
      ],
      [['--read'], 2, /^storeroom-mcp: .*--read.*\n$/],
    ];
    for (const [words, status, sentence] of refusals) {
      const ran = run(...words);
      assert.equal(ran.status, status, words.join(' '));
      assert.match(ran.stderr, sentence);
    }
  });

  test('without it, `storeroom mcp` says how to install it', () => {
    const env = { ...envOf(keys), NODE_OPTIONS };
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'src/main.ts'), 'mcp'], {
      env,
      encoding: 'utf8',
    });
    assert.equal(
      stderr,
      'storeroom: `storeroom mcp` needs packages that are not installed: run `npm ci` in the checkout.\n',
    );
    assert.equal(status, 1);
  });
});
