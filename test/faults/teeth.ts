/**
 * The crash and fault tests can fail: each is run on a copy of the tree with one promise broken on purpose, and has to
 * say which. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const TRIALS = {
  STOREROOM_TEST_ALL: 'on',
  STOREROOM_TEST_KILLS: '20',
  STOREROOM_TEST_RESTARTS: '3',
  STOREROOM_TEST_CUTS: '20',
  STOREROOM_TEST_POWER_LOSSES: '20',
  STOREROOM_TEST_FULL_DISKS: '3',
};

/** A lost record may be missed first where it is read, written to, or numbered anew. */
const LOSS = /was acknowledged.* and is lost|given twice|has QUANTITY|There is no order|has no line/;

interface Break {
  readonly promise: string;
  readonly test: string;
  readonly file: string;
  readonly good: string;
  readonly broken: string;
  /** What the test has to say. */
  readonly says: RegExp;
}

const BREAKS: Break[] = [
  {
    promise: 'counts are synced before the answer',
    test: 'faults/power-loss.ts',
    file: 'store/sqlite/usage-store.ts',
    good: 'syncAfterCommit: true',
    broken: 'syncAfterCommit: false',
    says: /usage \d+ is not between/,
  },
  {
    promise: 'records are synced before the answer',
    test: 'faults/power-loss.ts',
    file: 'store/sqlite/pims-store.ts',
    good: "new Database(file, { mode: 'write', ",
    broken: "new Database(file, { mode: 'write', sync: 'deferred', ",
    says: LOSS,
  },
  {
    promise: 'the answer comes after the commit',
    test: 'system/kill.test.ts',
    file: 'store/sqlite/write-queue.ts',
    good: "      this.#db.run('COMMIT');\n",
    broken:
      '      for (const item of group) item.resolve(item.result as never);\n      await sleep(5);\n' +
      "      this.#db.run('COMMIT');\n",
    says: LOSS,
  },
  {
    promise: 'reads are counted on a full disk',
    test: 'faults/disk-full.ts',
    file: 'store/sqlite/write-queue.ts',
    good: "faultOf(fault) === 'full' && !isLastTry",
    broken: 'false as boolean',
    says: /STORAGE_FULL[^]*503 !== 200/,
  },
  {
    promise: 'a batch of counts that is sent twice is added once',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/usage-store.ts',
    good: 'WHERE n."SEQUENCE" < excluded."SEQUENCE" RETURNING 1',
    broken: 'RETURNING 1',
    says: /✖ calls whose count is cut off after its commit[^]*\d+ !== \d+/,
  },
  {
    promise: 'counts and reads are repeated when their connection is lost',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/shared-connection.ts',
    good: '!(fault instanceof ConnectionLost) || fault.isSilent',
    broken: 'true as boolean',
    says: /✖ calls whose count is cut off after its commit[^]*503 !== 200/,
  },
  {
    promise: 'the answer comes after the commit, on PostgreSQL',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/write-queue.ts',
    good: '    return outcomes;\n',
    broken: `    for (const [index, { resolve }] of group.entries()) resolve(outcomes[index] as never);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return outcomes;\n`,
    says: LOSS,
  },
  {
    promise: 'a write whose COMMIT has no answer is not written again',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/write-queue.ts',
    good: 'fault instanceof ConnectionLost && fault.isUndone && ',
    broken: 'fault instanceof ConnectionLost && ',
    says: /✖ a write whose COMMIT has no answer/,
  },
  {
    promise: 'nodes that start together change the schema one after the other',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/migrate.ts',
    good: 'SELECT pg_advisory_lock(${MIGRATION_LOCK})',
    // All of them at the same instant.
    broken: 'SELECT pg_sleep(8 - extract(epoch FROM clock_timestamp()) % 8)',
    says: /before it was ready/,
  },
  {
    promise: 'keys are read from the database for every call',
    test: 'system/nodes.test.ts',
    file: 'store/postgres/tenant-store.ts',
    good: 'const found = await this.#callers.ask(`${apiId} ${teamId}`);',
    broken: `const kept = (globalThis.kept ??= new Map());
    const found = kept.get(apiId) ?? (await this.#callers.ask(\`\${apiId} \${teamId}\`));
    kept.set(apiId, found);
    setTimeout(() => kept.delete(apiId), 5000).unref();`,
    says: /calls with the old keys that succeeded after they were replaced/,
  },
  {
    promise: 'a server that does not answer is given up',
    test: 'system/database-loss.test.ts',
    file: 'store/postgres/store.ts',
    good: 'const SILENCE_MS = 1400;',
    broken: 'const SILENCE_MS = 60_000;',
    says: /✖ frozen/,
  },
  {
    promise: 'the end of an idle connection is expected',
    test: 'system/database-loss.test.ts',
    file: 'store/postgres/connection.ts',
    good: "client.on('error', (fault) => this.destroy(fault.message));",
    broken: '',
    says: /the service has ended|fetch failed/,
  },
  {
    promise: 'the node finds out that the database is back',
    test: 'system/database-loss.test.ts',
    file: 'store/postgres/availability.ts',
    good: 'if (answer?.[0] === false) this.#find();',
    broken: 'if (answer?.[0] === false) return;',
    says: /no success within 2000 ms of the return/,
  },
  {
    promise: 'a lock is waited for within bounds',
    test: 'system/database-locks.test.ts',
    file: 'store/postgres/store.ts',
    good: '      statement_timeout: STATEMENT_MS,\n      lock_timeout: LOCK_MS,\n',
    broken: '',
    says: /✖ a tenant whose row is held/,
  },
  {
    promise: 'writes that have waited too long are refused',
    test: 'system/database-locks.test.ts',
    file: 'store/postgres/write-queue.ts',
    good: 'const WAIT_MS = 1200;',
    broken: 'const WAIT_MS = 60_000;',
    says: /an answer took \d/,
  },
  {
    promise: 'a query has a budget',
    test: 'system/database-locks.test.ts',
    file: 'store/postgres/store.ts',
    good: '{ statement_timeout: options.queryBudgetMs, ',
    broken: '{ ',
    says: /✖ a query over its budget/,
  },
  {
    promise: 'synchronous_commit is on',
    test: 'system/database-settings.test.ts',
    file: 'store/postgres/store.ts',
    good: "'full_page_writes', 'synchronous_commit'] as const",
    broken: "'full_page_writes'] as const",
    says: /✖ synchronous_commit=off of the role in the database[^]*it has started/,
  },
];

for (const { promise, test: file, file: source, good, broken, says } of BREAKS)
  test(`${file} fails where it does not hold that ${promise}`, async () => {
    const copy = temporaryFolder();
    for (const part of ['src', 'test', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    const path = join(copy, 'src', source);
    const text = readFileSync(path, 'utf8');
    assert.equal(text.split(good).length, 2, `${source} has what is to be broken once`);
    writeFileSync(path, text.replace(good, broken));

    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    const run = spawn(process.execPath, ['test/run.ts', `test/${file}`], {
      cwd: copy,
      env: { ...environment, ...TRIALS },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    run.stdout.setEncoding('utf8').on('data', (part: string) => (said += part));
    const [code] = (await once(run, 'close')) as [number | null];
    assert.equal(code, 1, `it passed:\n${said}`);
    assert.match(said, says);
  });
