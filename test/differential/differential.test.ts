// Tests that every store returns the same bytes as the model in random runs of operations and operator commands.
// STOREROOM_TEST_RUNS sets the number of runs; STOREROOM_TEST_SEED repeats those of a failed test.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import type { KeyedType, RecordType } from '../../src/pims/rules/fields.ts';
import type { ImportResult } from '../../src/pims/import.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import { parseRecords, type Values } from '../../src/pims/rules/values.ts';
import type { Body } from '../../src/pims/writes/writes.ts';
import { openPostgres, type PostgresStore } from '../../src/store/postgres/store.ts';
import { TURNS } from '../kit/caller.ts';
import { newDatabase } from '../kit/postgres.ts';
import { trials } from '../kit/trials.ts';
import { newFolder, openForAll } from '../store/sqlite-folder.ts';
import { accepted, batches, NOW, type OpenedStore } from '../store/store-under-test.ts';
import { Caller, describe, outcomeOf, readBefore, systemOver, type Call } from './calls.ts';
import { Model } from './model.ts';
import { runPlan, type RunPlan } from './operations.ts';
import { passing } from '../kit/clock.ts';

const RUNS = trials('RUNS', { quick: 20, all: 100 });
const SEED = Number(process.env['STOREROOM_TEST_SEED'] ?? randomInt(2 ** 31));
/** Runs at the same time. Most of a run is waiting for disks. */
const LANES = 4;
const ATTEMPTS_MAX = 5;
/** Long enough that no query is refused because the machine is busy. */
const QUERY_BUDGET_MS = 60_000;
const SHOWN_CHARACTERS = 400;
const RECORD_TYPES = ['orders', 'lines', 'customers', 'inventory'] as const;

let postgres: PostgresStore | undefined;
const STORES: Record<string, () => OpenedStore | Promise<OpenedStore>> = {
  SQLite: () => openForAll(newFolder(), { queryBudgetMs: QUERY_BUDGET_MS }),
  PostgreSQL: async () =>
    (postgres = await openPostgres({
      ...TURNS,
      clock: passing,
      url: await newDatabase(),
      connections: LANES,
      queryBudgetMs: QUERY_BUDGET_MS,
      name: 'test',
    })),
};
const opened: { name: string; store: OpenedStore }[] = [];
before(async () => {
  for (const [name, open] of Object.entries(STORES)) opened.push({ name, store: await open() });
});
after(() => postgres?.close());

let tenants = 0;
/** Whether a lane has found a difference. The other lanes then end. */
let isOver = false;

/**
 * Lock codes and tags are random, so those of a store are replaced by the model's names for the same line or record
 * before texts are compared.
 */
class RandomNames {
  readonly #names = new Map<string, string>();
  readonly #codes = new Map<string, string>();

  /**
   * Returns the store's text with the model's names. A new code gets the name that is at the same place in the model's
   * text.
   */
  rename(text: string, expected: string): string {
    const names = [...expected.matchAll(NAMED)].map(([, name]) => name!);
    for (const [index, [, code]] of [...text.matchAll(NAMED)].entries()) {
      const name = names[index];
      if (name === undefined || this.#names.has(code!) || this.#codes.has(name)) continue;
      this.#names.set(code!, name);
      this.#codes.set(name, code!);
    }
    return text.replace(RANDOM, (code) => this.#names.get(code) ?? code);
  }

  /** Returns the call with the codes of this store. */
  translate(call: Call): Call {
    if (call.name === 'batch') {
      const steps = call.steps.map((step) => ({ ...step, body: this.#translateBody(step.body) }));
      return { ...call, steps };
    }
    if (!('body' in call)) return call;
    const { body, context } = call;
    const expected =
      typeof context.expected === 'object'
        ? context.expected.map((name) => (this.#codes.has(name) ? `"${this.#codes.get(name)}"` : name))
        : context.expected;
    return { ...call, body: this.#translateBody(body), context: { ...context, expected } };
  }

  #translateBody(body: Body): Body {
    const code = this.#codes.get(String(body['LINE_REF_LOCK_CODE']));
    return code === undefined ? body : { ...body, LINE_REF_LOCK_CODE: code };
  }
}
const NAMED = /"(?:LINE_REF_LOCK_CODE|tag)":"([^"]*)"/g;
const RANDOM = /(?<=["'])([\w-]{24}|[\w-]{12}\.[0-9a-f]{10})(?=["'])/g;

interface StoreUnderRun {
  readonly name: string;
  readonly pims: PimsStore;
  readonly names: RandomNames;
}

/** A run of a plan on the model and on a tenant of each store, with the calls made so far. */
class Run {
  readonly #model = new Model();
  readonly #stores: StoreUnderRun[];
  readonly #asked: string[] = [];

  constructor(stores: readonly { name: string; pims: PimsStore }[]) {
    this.#stores = stores.map((store) => ({ ...store, names: new RandomNames() }));
  }

  async carryOut({ defaultStage, fields, rows, steps }: RunPlan): Promise<void> {
    const caller = new Caller(this.#model, defaultStage);
    for (const field of fields) await this.#call({ name: 'addField', field });
    for (const recordType of ['inventory', 'orders', 'customers'] as const) {
      const ofType = rows.filter((row) => row.recordType === recordType);
      await this.#import(
        recordType,
        ofType.map(({ values }) => values),
      );
    }
    for (const step of steps) {
      const call = caller.callOf(step);
      const seen = readBefore(call);
      if (seen) await this.#call(seen);
      await this.#call(call);
      // advanceOrder makes lock codes that its result does not contain. The export shows them.
      if (call.name === 'advanceOrder') await this.#export('lines');
    }
    for (const recordType of RECORD_TYPES) await this.#export(recordType);
  }

  async #call(call: Call): Promise<void> {
    const expected = await outcomeOf(this.#model, call);
    await this.#compare(describe(call), expected, ({ pims, names }) =>
      outcomeOf(systemOver(pims), names.translate(call)),
    );
  }

  async #import(recordType: KeyedType, rows: readonly Readonly<Record<string, string>>[]): Promise<void> {
    if (rows.length === 0) return;
    const rejected = rows.flatMap((row, index) => {
      try {
        this.#model.importRow(recordType, row, NOW);
        return [];
      } catch (refusal) {
        assert.ok(refusal instanceof Refusal);
        return [`${index + 2} ${refusal.code} ${refusal.message}`];
      }
    });
    await this.#compare(`import ${recordType} ${describe(rows)}`, rejected.join('\n'), async ({ pims }) => {
      const results = await Array.fromAsync(pims.importRows(recordType, batches(rows), { now: NOW, atomic: false }));
      const reasons = results.flatMap((result) => result.rejected);
      const show = ({ lineNumber, reason }: ImportResult['rejected'][0]) =>
        `${lineNumber} ${(reason as Refusal).code} ${reason.message}`;
      return reasons.map(show).join('\n');
    });
  }

  async #export(recordType: RecordType): Promise<void> {
    const expected = listRecords(this.#model.exportRecords(recordType));
    await this.#compare(`export ${recordType}`, expected, async ({ pims }) => {
      const names = [...(await pims.dictionaries())[recordType].keys()];
      const chunks = await Array.fromAsync(pims.exportRows(recordType, names));
      return listRecords(chunks.flatMap((cells) => parseRecords(cells, names)));
    });
  }

  async #compare(asked: string, expected: string, ask: (store: StoreUnderRun) => Promise<string>): Promise<void> {
    this.#asked.push(shorten(asked));
    const answerOf = async (store: StoreUnderRun) => {
      const answer = store.names.rename(await ask(store).catch(faultText), expected);
      return { name: store.name, answer };
    };
    const answers = await Promise.all(this.#stores.map(answerOf));
    for (const { name, answer } of answers)
      if (answer !== expected) {
        let from = 0;
        while (answer[from] === expected[from]) from++;
        const piece = (text: string) => shorten(JSON.stringify(text.slice(Math.max(0, from - 100))));
        throw new Error(
          `${this.#asked.join('\n')}\n${name} and the model differ from character ${from} on:\n` +
            `  ${name}: ${piece(answer)}\n  model: ${piece(expected)}`,
        );
      }
  }
}

/** Formats records, one per line. */
const listRecords = (records: readonly Values[]): string => records.map((record) => JSON.stringify(record)).join('\n');
function faultText(fault: unknown): string {
  if (isUnavailable(fault)) throw fault;
  return `It failed: ${fault instanceof Error ? fault.stack : String(fault)}`;
}

const shorten = (text: string): string =>
  text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)` : text;

const isUnavailable = (fault: unknown): boolean => fault instanceof Refusal && fault.code === 'STORE_UNAVAILABLE';

/**
 * Runs a plan on new tenants. If the store is unavailable, because other tests keep the machine too busy, the run shows
 * nothing and is repeated.
 */
async function runOnNewTenants(plan: RunPlan): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await runOnce(plan);
    } catch (fault) {
      if (!isUnavailable(fault) || attempt === ATTEMPTS_MAX) throw fault;
    }
}

async function runOnce(plan: RunPlan): Promise<void> {
  const teamId = `team-${++tenants}`;
  const made = await Promise.all(
    opened.map(async ({ name, store }) => ({
      name,
      store,
      tenant: accepted(await store.tenants.createTenant(teamId, 'A tenant', NOW)),
    })),
  );
  try {
    await new Run(made.map(({ name, store, tenant }) => ({ name, pims: store.pims(tenant) }))).carryOut(plan);
  } finally {
    await Promise.all(made.map(({ store, tenant }) => store.tenants.deleteTenant(tenant)));
  }
}

/** Returns the difference that a plan shows, if any. */
async function differenceOf(plan: RunPlan): Promise<string | undefined> {
  try {
    await runOnNewTenants(plan);
    return undefined;
  } catch (difference) {
    return (difference as Error).message;
  }
}

/**
 * Removes everything from a plan that is not needed to show the difference. fast-check itself never tries a part again
 * that it could not remove at first.
 */
async function reduce(plan: RunPlan): Promise<RunPlan> {
  for (const part of ['steps', 'rows', 'fields'] as const)
    for (let index = plan[part].length - 1; index >= 0; index--) {
      const smaller = { ...plan, [part]: plan[part].toSpliced(index, 1) };
      if ((await differenceOf(smaller)) !== undefined) return reduce(smaller);
    }
  return plan;
}

/** Returns the first difference that the runs of a seed show, in as few steps as possible. */
async function findDifference(seed: number): Promise<string | undefined> {
  const details = await fc.check(
    fc.asyncProperty(runPlan, async (plan) => isOver || runOnNewTenants(plan)),
    { seed, numRuns: Math.ceil(RUNS / LANES) },
  );
  if (!details.failed) return undefined;
  isOver = true;
  const difference = details.counterexample && (await differenceOf(await reduce(details.counterexample[0])));
  return `Seed ${seed}, run ${details.numRuns}:\n${difference ?? String(details.errorInstance)}`;
}

// Holds S5.14, S13.9.
test('SQLite and PostgreSQL give the results of the model', async (context) => {
  context.diagnostic(`${RUNS} runs in ${LANES} lanes, STOREROOM_TEST_SEED=${SEED}`);
  const differences = await Promise.all(Array.from({ length: LANES }, (_, lane) => findDifference(SEED + lane)));
  const found = differences.filter((difference) => difference !== undefined);
  if (found.length > 0) throw new Error(found.join('\n\n'));
});
