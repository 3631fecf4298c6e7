/**
 * Makes mixed load from many connections, and keeps an account of it: what was sent, what was acknowledged, and what
 * may be found afterwards. Crash tests check their invariants here. Each record has one writer, so that its possible
 * content is known. Every other write has an Idempotency-Key, and is repeated with it if its outcome is unknown.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Answer, CallOptions, Keys, Service } from '../kit/service.ts';
import { NoAnswer, type HttpClient } from '../kit/http-client.ts';
import { isCounted } from '../kit/repeat.ts';
import { checkStore } from './store-integrity.ts';

type Values = Record<string, string>;

/**
 * A line that was sent. It is acknowledged once it has a lock code. After an update without an answer, it has two
 * possible quantities.
 */
interface SentLine {
  readonly token: string;
  readonly idempotencyKey: string | undefined;
  /** Idempotency-Key of the last update. */
  updateKey: string | undefined;
  quantities: string[];
  lockCode: string | undefined;
  lineNumber: string | undefined;
}

/** An order or a customer that was sent. It is acknowledged once it has a number. */
interface SentRecord {
  readonly token: string;
  readonly recordType: 'orders' | 'customers';
  readonly idempotencyKey: string | undefined;
  readonly lines: SentLine[];
  /** Number of its lines that were sent with it in one batch. */
  readonly batched: number;
  number: string | undefined;
}

/** Number of calls with a valid pair that were counted, and number of calls that may have been counted. */
interface PairAccount {
  readonly keys: Keys;
  countedCalls: number;
  unknownCalls: number;
}

interface TeamAccount {
  readonly keys: Keys;
  readonly records: Map<string, SentRecord>;
  readonly pairs: readonly PairAccount[];
}

/** Probability that a write of unknown outcome is repeated before any other call. */
const REPEATED = 0.9;
const REPEATERS = 16;
/** Share of new orders that are sent in a batch with lines, and the maximum number of these lines. */
const BATCHED = 0.5;
const LINES_MAX = 20;
const TOKEN_FIELDS = { orders: 'REFERENCE_NUMBER', customers: 'CUSTOMER_NAME' } as const;
const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];

export class MixedLoad {
  readonly #client: HttpClient;
  readonly #teams: TeamAccount[];
  #tokens = 0;
  #keys = 0;
  /** Number of answers by status; those of a 5xx by status and code. */
  readonly statuses = new Map<number | string, number>();
  #acknowledged = 0;
  #waiting: { readonly at: number; readonly go: () => void }[] = [];
  #working = 0;
  readonly #resting: (() => void)[] = [];
  /** Number of calls that may have arrived and got no answer. */
  unanswered = 0;
  /** Whether a refused connection rests until another gets an answer. False for tests that refuse only some tenants. */
  rests = true;
  /** While this is set, answers count as missing, because they arrive after the moment that a test is about. */
  ignoresAnswers = false;

  /** `pairs` has one or more pairs of each tenant. */
  constructor(client: HttpClient, pairs: readonly Keys[]) {
    this.#client = client;
    this.#teams = [...Map.groupBy(pairs, ({ teamID }) => teamID).values()].map((own) => ({
      keys: own[0]!,
      records: new Map(),
      pairs: own.map((keys) => ({ keys, countedCalls: 0, unknownCalls: 0 })),
    }));
  }

  /** Opens a load with new tenants, which have two pairs of keys each. */
  static async open(client: HttpClient, service: Service, teams = ['one', 'two']): Promise<MixedLoad> {
    const tenants = await Promise.all(teams.map((teamID) => service.makeTenant(teamID)));
    const create = async ({ teamID }: Keys): Promise<Keys> =>
      (await service.command('keys', 'create', teamID, '--name', 'second', '--json')).json() as Keys;
    return new MixedLoad(client, [...tenants, ...(await Promise.all(tenants.map(create)))]);
  }

  /** Number of orders, customers and lines that were acknowledged. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Resolves when this many more are acknowledged. */
  acknowledges(count: number): Promise<void> {
    return new Promise((go) => this.#waiting.push({ at: this.#acknowledged + count, go }));
  }

  #acknowledge(count = 1): void {
    this.#acknowledged += count;
    const due = this.#waiting.filter(({ at }) => at <= this.#acknowledged);
    this.#waiting = this.#waiting.filter(({ at }) => at > this.#acknowledged);
    for (const { go } of due) go();
  }

  /** Calls on every connection until `isOver` returns true, even without a service. Throws if an answer is wrong. */
  async run(connections: number, isOver: () => boolean): Promise<void> {
    const work = async (index: number): Promise<void> => {
      const team = this.#teams[index % this.#teams.length]!;
      const own: SentRecord[] = [];
      this.#working++;
      try {
        while (!isOver())
          await this.#step(team, own).catch(async (fault: unknown) => {
            if (!(fault instanceof NoAnswer)) throw fault;
            await this.#rest();
          });
      } finally {
        this.#working--;
        this.#resume();
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, index) => work(index)));
  }

  /** Waits after a failed or refused call: one connection continues, and the others rest until it gets an answer. */
  #rest(): Promise<void> {
    if (!this.rests || this.#resting.length + 1 >= this.#working) return nextRound();
    return new Promise((go) => this.#resting.push(go));
  }

  #resume(): void {
    for (const go of this.#resting.splice(0)) go();
  }

  /** Repeats writes of unknown outcome with an Idempotency-Key until they succeed. None may take effect twice. */
  async repeatUnanswered(): Promise<void> {
    const unknown = this.#teams.flatMap((team) =>
      team.records
        .values()
        .flatMap((record) => this.#findUnknownWrites(team, record))
        .toArray(),
    );
    const work = async (): Promise<void> => {
      for (let repeat = unknown.pop(); repeat; repeat = unknown.pop()) while (!(await repeat()));
    };
    await Promise.all(Array.from({ length: REPEATERS }, work));
  }

  /**
   * Finds the writes of a record whose outcome is unknown and that have an Idempotency-Key. Each of the returned
   * functions repeats one, and returns whether it succeeded.
   */
  #findUnknownWrites(team: TeamAccount, record: SentRecord): (() => Promise<boolean>)[] {
    if (record.number === undefined)
      return record.idempotencyKey === undefined ? [] : [() => this.#create(team, record)];
    return record.lines.flatMap((line) => {
      if (line.lockCode === undefined)
        return line.idempotencyKey === undefined ? [] : [() => this.#sendLine(team, record, line)];
      return line.quantities.length === 1 || line.updateKey === undefined
        ? []
        : [() => this.#sendUpdate(team, record, line)];
    });
  }

  async #step(team: TeamAccount, own: SentRecord[]): Promise<void> {
    const chance = Math.random();
    const unknown =
      Math.random() < REPEATED ? own.flatMap((record) => this.#findUnknownWrites(team, record))[0] : undefined;
    if (unknown) return void (await unknown());
    const order = pick(own.filter(({ recordType, number }) => recordType === 'orders' && number !== undefined));
    if (chance < 0.3 || !order) return this.#createNew(team, own, chance < 0.25 ? 'orders' : 'customers');
    if (chance < 0.55) return this.#addLine(team, order);
    if (chance < 0.7) return this.#updateLine(team, order);
    if (chance < 0.8) return this.#readOrder(team, order);
    if (chance < 0.88) return this.#queryOrder(team, order);
    return this.#callBadly(team, chance);
  }

  async #createNew(team: TeamAccount, own: SentRecord[], recordType: SentRecord['recordType']): Promise<void> {
    const token = `#${team.keys.teamID}-${++this.#tokens}`;
    const batched = recordType === 'orders' && Math.random() < BATCHED ? 1 + Math.floor(Math.random() * LINES_MAX) : 0;
    const lines = Array.from({ length: batched }, (_, index) => newLine(token, index, undefined));
    const record: SentRecord = {
      token,
      recordType,
      idempotencyKey: this.#nextKey(),
      lines,
      batched,
      number: undefined,
    };
    team.records.set(token, record);
    own.push(record);
    await this.#create(team, record);
  }

  async #create(team: TeamAccount, record: SentRecord): Promise<boolean> {
    if (record.batched > 0) return this.#createWithLines(team, record);
    const { token, recordType, idempotencyKey } = record;
    const answer = await this.#write(
      team,
      'PUT',
      `/${recordType}/create`,
      { [TOKEN_FIELDS[recordType]]: token },
      idempotencyKey,
    );
    if (!isSuccess(answer, token)) return false;
    record.number = String(answer.body.data);
    this.#acknowledge();
    return true;
  }

  async #createWithLines(team: TeamAccount, order: SentRecord): Promise<boolean> {
    const create = { operation: 'createOrder', body: { REFERENCE_NUMBER: order.token } };
    const add = order.lines.slice(0, order.batched).map((line) => ({
      operation: 'addLineItem',
      body: { ORDER_NUMBER: '$0.data', DESCRIPTION: line.token, QUANTITY: line.quantities[0] },
    }));
    const answer = await this.#write(team, 'POST', '/batch', [create, ...add], order.idempotencyKey);
    if (!isSuccess(answer, order.token)) return false;
    const [number, ...lines] = (answer.body.data as { data: unknown }[]).map(({ data }) => data);
    order.number = number as string;
    for (const [index, data] of (lines as Values[]).entries()) {
      order.lines[index]!.lockCode = data['LINE_REF_LOCK_CODE'];
      order.lines[index]!.lineNumber = data['LINE_NUMBER'];
    }
    this.#acknowledge(1 + order.batched);
    return true;
  }

  async #addLine(team: TeamAccount, order: SentRecord): Promise<void> {
    const line = newLine(order.token, order.lines.length, this.#nextKey());
    order.lines.push(line);
    await this.#sendLine(team, order, line);
  }

  async #sendLine(team: TeamAccount, order: SentRecord, line: SentLine): Promise<boolean> {
    const sent = { ORDER_NUMBER: order.number, DESCRIPTION: line.token, QUANTITY: line.quantities[0] };
    const answer = await this.#write(team, 'PUT', '/orders/line_item', sent, line.idempotencyKey);
    if (!isSuccess(answer, line.token)) return false;
    const { data } = answer.body;
    line.lockCode = data.LINE_REF_LOCK_CODE;
    line.lineNumber = data.LINE_NUMBER;
    this.#acknowledge();
    assert.equal(data.DESCRIPTION, line.token);
    return true;
  }

  /** Updates a line. The outcome of its last update must be known, so that at most two values are possible. */
  async #updateLine(team: TeamAccount, order: SentRecord): Promise<void> {
    const line = pick(
      order.lines.filter(({ lockCode, quantities }) => lockCode !== undefined && quantities.length === 1),
    );
    if (!line) return;
    line.quantities = [...line.quantities, String(Number(line.quantities[0]) + 1000)];
    line.updateKey = this.#nextKey();
    await this.#sendUpdate(team, order, line);
  }

  async #sendUpdate(team: TeamAccount, order: SentRecord, line: SentLine): Promise<boolean> {
    const quantity = line.quantities.at(-1)!;
    const sent = { ORDER_NUMBER: order.number, LINE_REF_LOCK_CODE: line.lockCode, QUANTITY: quantity };
    if (!isSuccess(await this.#write(team, 'POST', '/orders/line_item', sent, line.updateKey), line.token))
      return false;
    line.quantities = [quantity];
    return true;
  }

  async #readOrder(team: TeamAccount, order: SentRecord): Promise<void> {
    const answer = await this.#call(team, 'GET', '/orders/single', { query: { orderNum: order.number! } });
    if (!isSuccess(answer, order.token)) return;
    const { body } = answer;
    checkRecord(order, body.data);
    const lines = (body.subRecords ?? []) as { ORDER_LINEITEMS: Values }[];
    checkLines(
      order,
      lines.map((one) => one.ORDER_LINEITEMS),
    );
  }

  async #queryOrder(team: TeamAccount, order: SentRecord): Promise<void> {
    const answer = await this.#call(team, 'POST', '/orders/query', {
      body: [{ field: 'REFERENCE_NUMBER', value: order.token }],
    });
    if (!isSuccess(answer, order.token)) return;
    const { data } = answer.body;
    assert.equal(data.length, 1, `${order.token} was acknowledged and is lost`);
    checkRecord(order, data[0]);
  }

  async #callBadly(team: TeamAccount, chance: number): Promise<void> {
    if (chance < 0.94) {
      const { status } = await this.#call(team, 'PUT', '/orders/create', { body: { NO_SUCH_FIELD: '1' } });
      assert.ok(status === 400 || status >= 500, `${status}`);
      return;
    }
    const other = this.#teams.find((one) => one !== team)!.keys;
    const { status } = await this.#client.call({ ...other, teamID: team.keys.teamID }, 'GET', '/orders/single', {
      query: { orderNum: '10001' },
    });
    assert.ok(status === 401 || status >= 500, `${status}`);
  }

  /** Returns an Idempotency-Key for every other write. */
  #nextKey(): string | undefined {
    return ++this.#keys % 2 === 0 ? `key-${this.#keys}` : undefined;
  }

  #write(
    team: TeamAccount,
    method: string,
    path: string,
    body: unknown,
    idempotencyKey: string | undefined,
  ): Promise<Answer> {
    return this.#call(team, method, path, {
      body,
      headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    });
  }

  async #call(team: TeamAccount, method: string, path: string, options: CallOptions): Promise<Answer> {
    const pair = pick(team.pairs)!;
    // Each step of a batch is counted.
    const calls = path === '/batch' ? (options.body as unknown[]).length : 1;
    const answer = await this.#client.call(pair.keys, method, path, options).catch((fault: unknown) => {
      if (!(fault instanceof NoAnswer)) throw fault;
      if (fault.wasSent) {
        this.unanswered++;
        pair.unknownCalls += calls;
      }
      throw fault;
    });
    if (this.ignoresAnswers) {
      this.unanswered++;
      pair.unknownCalls += calls;
      throw new NoAnswer(new Error('The answer came too late to count.'));
    }
    const kind = answer.status >= 500 ? `${answer.status} ${answer.body.code}` : answer.status;
    this.statuses.set(kind, (this.statuses.get(kind) ?? 0) + 1);
    if (isCounted(answer)) pair.countedCalls += calls;
    else {
      assert.ok(answer.status >= 500, `${kind} is answered and not counted: ${answer.text}`);
      // A busy service has not begun the call. After other faults, the store may have counted it.
      if (answer.body.code !== 'SERVICE_BUSY') pair.unknownCalls += calls;
    }
    if (answer.status >= 500) await this.#rest();
    else this.#resume();
    return answer;
  }

  /**
   * Checks that nothing is lost, doubled or invented, that every answered call is counted, also for its pair of keys,
   * and that the store is whole. `place` is where the store's own tools find it.
   */
  async check(service: Service, place = service.place): Promise<void> {
    for (const team of this.#teams) {
      await Promise.all([checkRecords(service, team, 'orders'), checkRecords(service, team, 'customers')]);
      await checkUsage(service, team);
    }
    await checkStore(place);
  }
}

const newLine = (order: string, index: number, idempotencyKey: string | undefined): SentLine => ({
  token: `${order}/${index}`,
  idempotencyKey,
  updateKey: undefined,
  quantities: [`${index + 1}`],
  lockCode: undefined,
  lineNumber: undefined,
});

/** Returns whether a call succeeded. After a 503, its outcome is unknown. Tests that expect no 503 check `statuses`. */
function isSuccess({ status, text }: Answer, token: string): boolean {
  assert.ok(status === 200 || status === 503, `${token}: ${text}`);
  return status === 200;
}

async function checkUsage(service: Service, { keys, pairs }: TeamAccount): Promise<void> {
  const { total, byKey } = (await service.command('usage', keys.teamID, '--json')).json() as {
    total: number;
    byKey: { apiID: string; calls: number }[];
  };
  const counted = (apiID: string): number => byKey.find((one) => one.apiID === apiID)?.calls ?? 0;
  for (const { keys: pair, countedCalls: least, unknownCalls } of pairs) {
    const usage = counted(pair.apiID);
    const most = least + unknownCalls;
    const complaint = `usage ${usage} is not between ${least} counted and ${most} possible calls with ${pair.apiID}`;
    assert.ok(least <= usage && usage <= most, complaint);
  }
  const own = new Set(pairs.map((pair) => pair.keys.apiID));
  const sum = byKey.reduce((calls, pair) => calls + pair.calls, 0);
  // A pair without a counted call is not listed.
  const others = byKey.filter(({ apiID }) => !own.has(apiID));
  assert.deepEqual([sum, others], [total, []], 'the calls by pair are the total');
}

async function exportRecords(service: Service, { keys }: TeamAccount, recordType: string): Promise<Values[]> {
  return ((await service.command('export', keys.teamID, recordType, '--json')).json() as { records: Values[] }).records;
}

async function checkRecords(service: Service, team: TeamAccount, recordType: SentRecord['recordType']): Promise<void> {
  const numberField = recordType === 'orders' ? 'ORDER_NUMBER' : 'CUSTOMER_CODE';
  const sent = [...team.records.values()].filter((record) => record.recordType === recordType);
  const given = sent.flatMap(({ number }) => number ?? []);
  assert.equal(new Set(given).size, given.length, `${recordType}: a number was given twice`);

  const found = new Map<string, Values>();
  for (const values of await exportRecords(service, team, recordType)) {
    const token = values[TOKEN_FIELDS[recordType]]!;
    assert.ok(team.records.has(token), `${token} was never sent`);
    assert.ok(!found.has(token), `${token} is there twice`);
    found.set(token, values);
  }
  const linesOf = Map.groupBy(
    recordType === 'orders' ? await exportRecords(service, team, 'lines') : [],
    (line) => line['ORDER_NUMBER']!,
  );
  for (const record of sent) {
    const values = found.get(record.token);
    if (record.number !== undefined)
      assert.ok(values, `${record.token} was acknowledged as ${record.number} and is lost`);
    if (!values) continue;
    checkRecord(record, values);
    const lines = linesOf.get(values[numberField]!) ?? [];
    assert.ok(lines.length >= record.batched, `${record.token} is there in part`);
    checkLines(record, lines);
  }
}

function checkRecord(record: SentRecord, values: Values): void {
  assert.equal(values[TOKEN_FIELDS[record.recordType]], record.token);
  if (record.number !== undefined)
    assert.equal(values['ORDER_NUMBER'] ?? values['CUSTOMER_CODE'], record.number, record.token);
}

/** Checks that no line is invented, no acknowledged line is lost, and each keeps its own number and lock code. */
function checkLines(order: SentRecord, found: readonly Values[]): void {
  const lines = new Map(found.map((values) => [values['DESCRIPTION']!, values]));
  assert.equal(lines.size, found.length, `${order.token} has a line twice`);
  for (const name of ['LINE_NUMBER', 'LINE_REF_LOCK_CODE'])
    assert.equal(new Set(found.map((values) => values[name])).size, found.length, `${order.token}: ${name} twice`);
  const sent = new Map(order.lines.map((line) => [line.token, line]));
  for (const [token, values] of lines) {
    const line = sent.get(token);
    assert.ok(line, `${token} was never sent`);
    assert.ok(
      line.quantities.includes(values['QUANTITY']!),
      `${token} has QUANTITY ${values['QUANTITY']}, not ${line.quantities.join(' or ')}`,
    );
    if (line.lockCode === undefined) continue;
    assert.deepEqual([values['LINE_NUMBER'], values['LINE_REF_LOCK_CODE']], [line.lineNumber, line.lockCode], token);
  }
  for (const { token, lockCode } of order.lines)
    assert.ok(lockCode === undefined || lines.has(token), `${token} was acknowledged and is lost`);
}
