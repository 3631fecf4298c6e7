/** How the promises of the source are broken for teeth.ts, and what the test that notices has to say. */

/** A lost record may be missed first where it is read, written to, or numbered anew. */
const LOSS = /was acknowledged.* and is lost|given twice|has QUANTITY|There is no order|has no line/;

/** What is broken where, and what the test has to say of it. */
interface Break {
  readonly file: string;
  readonly good: string;
  readonly broken: string;
  readonly says: RegExp;
}

/** By the test that notices, and by the promise that is not kept. */
export const BREAKS: Record<string, Record<string, Break>> = {
  'faults/power-loss.ts': {
    'counts are synced before the answer': {
      file: 'store/sqlite/usage-store.ts',
      good: 'syncAfterCommit: true',
      broken: 'syncAfterCommit: false',
      says: /usage \d+ is not between/,
    },
    'records are synced before the answer': {
      file: 'store/sqlite/pims-store.ts',
      good: 'syncAfterCommit: isService',
      broken: 'syncAfterCommit: false',
      says: LOSS,
    },
  },
  'faults/power-loss-postgres.ts': {
    'records and counts are synced before the answer, on PostgreSQL': {
      file: 'store/postgres/connection.ts',
      good: 'await client.connect();',
      // Once the service has looked at the setting. Records alone would not show it: syncing a count syncs all before.
      broken:
        'await client.connect();\n' +
        "setTimeout(() => client.query('SET synchronous_commit TO off').catch(() => undefined), 300);",
      says: new RegExp(`${LOSS.source}|usage \\d+ is not between`),
    },
  },
  'faults/fuzz.ts': {
    'a cursor of any length is compared': {
      file: 'http/cursor.ts',
      good: 'given.length === issued.length && timing',
      broken: 'timing',
      says: /answered 500/,
    },
    'answers are those of the contract': {
      file: 'http/operations/operation-schemas.ts',
      good: "Stage: textOf('Stage of an order.', { enum: STAGES }),",
      broken: "Stage: textOf('Stage of an order.', { enum: STAGES.slice(1) }),",
      says: /is not as openapi\.json says/,
    },
  },
  'system/kill.test.ts': {
    'the answer comes after the commit': {
      file: 'store/sqlite/write-queue.ts',
      good: "      this.#db.run('COMMIT');\n",
      broken:
        '      for (const item of group) item.resolve(item.result as never);\n      await sleep(5);\n' +
        "      this.#db.run('COMMIT');\n",
      says: LOSS,
    },
  },
  'faults/disk-full.ts': {
    'reads are counted on a full disk': {
      file: 'store/sqlite/write-queue.ts',
      good: "faultOf(fault) === 'full' && !isLastTry",
      broken: 'false as boolean',
      says: /STORAGE_FULL[^]*503 !== 200/,
    },
  },
  'system/nodes.test.ts': {
    'a batch of counts that is sent twice is added once': {
      file: 'store/postgres/usage-store.ts',
      good: 'WHERE n."SEQUENCE" < excluded."SEQUENCE" RETURNING 1',
      broken: 'RETURNING 1',
      says: /✖ calls whose count is cut off after its commit[^]*\d+ of \d+ calls are counted/,
    },
    'counts and reads are repeated when their connection is lost': {
      file: 'store/postgres/shared-connection.ts',
      good: '!(fault instanceof ConnectionLost) || fault.isSilent',
      broken: 'true as boolean',
      says: /✖ calls whose count is cut off after its commit[^]*503 !== 200/,
    },
    'the answer comes after the commit, on PostgreSQL': {
      file: 'store/postgres/write-queue.ts',
      good: '(open) => new WriteGroup(open, begins, counters).run(lock(open))',
      broken: `async (open) => {
        const early = await new WriteGroup(open, begins, counters).run(lock(open));
        for (const [index, { resolve }] of group.entries()) resolve(early[index] as never);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return early;
      }`,
      says: LOSS,
    },
    'a write whose COMMIT has no answer is not written again': {
      file: 'store/postgres/write-queue.ts',
      good: 'fault instanceof ConnectionLost && fault.isUndone && ',
      broken: 'fault instanceof ConnectionLost && ',
      says: /✖ a write whose COMMIT has no answer/,
    },
    'nodes that start together change the schema one after the other': {
      file: 'store/postgres/migrate.ts',
      good: 'SELECT pg_advisory_lock(${MIGRATION_LOCK})',
      // All of them at the same instant.
      broken: 'SELECT pg_sleep(8 - extract(epoch FROM clock_timestamp()) % 8)',
      says: /before it was ready/,
    },
    'keys are read from the database for every call': {
      file: 'store/postgres/tenant-store.ts',
      good: 'const found = await this.#callers.ask(`${apiId} ${teamId}`);',
      broken: `const kept = (globalThis.kept ??= new Map());
      const found = kept.get(apiId) ?? (await this.#callers.ask(\`\${apiId} \${teamId}\`));
      kept.set(apiId, found);
      setTimeout(() => kept.delete(apiId), 5000).unref();`,
      says: /calls with the old keys that succeeded after they were replaced/,
    },
  },
  'system/database-loss.test.ts': {
    'a server that does not answer is given up': {
      file: 'store/postgres/store.ts',
      good: 'const SILENCE_MS = 1400;',
      broken: 'const SILENCE_MS = 60_000;',
      says: /✖ frozen/,
    },
    'the end of an idle connection is expected': {
      file: 'store/postgres/connection.ts',
      good: "client.on('error', (fault) => this.destroy(fault.message));",
      broken: '',
      says: /the service has ended|fetch failed/,
    },
    'the node finds out that the database is back': {
      file: 'store/postgres/availability.ts',
      good: 'if (answer?.[0] === false) this.#find();',
      broken: 'if (answer?.[0] === false) return;',
      says: /no success within 2000 ms of the return/,
    },
  },
  'system/database-locks.test.ts': {
    'a lock is waited for within bounds': {
      file: 'store/postgres/store.ts',
      good: '      statement_timeout: STATEMENT_MS,\n      lock_timeout: LOCK_MS,\n',
      broken: '',
      says: /✖ a tenant whose row is held/,
    },
    'writes that have waited too long are refused': {
      file: 'store/postgres/write-queue.ts',
      good: 'const WAIT_MS = 1200;',
      broken: 'const WAIT_MS = 60_000;',
      says: /an answer took \d/,
    },
    'a query has a budget': {
      file: 'store/postgres/store.ts',
      good: '      statement_timeout: options.queryBudgetMs,\n',
      broken: '',
      says: /✖ a query over its budget/,
    },
  },
  'system/database-settings.test.ts': {
    'synchronous_commit is on': {
      file: 'store/postgres/store.ts',
      good: "'full_page_writes', 'synchronous_commit'] as const",
      broken: "'full_page_writes'] as const",
      says: /✖ synchronous_commit=off of the role in the database[^]*it has started/,
    },
  },
};
