/** Lists how teeth.ts breaks promises of the source, and what the test that notices must report. */

/** Matches reports of a lost record: at a read, at a change, or when its number is given out again. */
const LOSS = /was acknowledged.* and is lost|given twice|has QUANTITY|There is no order|has no line/;

/** The code that breaks a promise, and what the test must report. */
interface Break {
  readonly file: string;
  /** Code that is in the file once, in any layout: see breakPromise. */
  readonly good: string;
  readonly broken: string;
  readonly says: RegExp;
}

/** All breaks, by the test that notices them and by the promise that is broken. */
export const BREAKS: Record<string, Record<string, Break>> = {
  'faults/power-loss.ts': {
    'counts are synced before the response': {
      file: 'store/sqlite/control-database.ts',
      good: "sync: 'after commit' });",
      broken: "sync: 'never' });",
      says: /usage \d+ is not between/,
    },
    'records are synced before the response': {
      file: 'store/sqlite/pims-store.ts',
      good: 'sync: syncOf(busyTimeoutMs)',
      broken: "sync: 'never'",
      says: LOSS,
    },
  },
  'faults/power-loss-postgres.ts': {
    'records and counts are synced before the response, on PostgreSQL': {
      file: 'store/postgres/connection/connection.ts',
      good: 'await client.connect();',
      // After the service has checked the setting. It is off for counts too: syncing one would sync all before it.
      broken: `await client.connect();
        setTimeout(() => client.query('SET synchronous_commit TO off').catch(() => undefined), 300);`,
      says: new RegExp(`${LOSS.source}|usage \\d+ is not between`),
    },
  },
  'faults/fuzz.ts': {
    'a cursor of any length is compared': {
      file: 'http/operations/cursor.ts',
      good: 'given.length === issued.length && timing',
      broken: 'timing',
      says: /answered 500/,
    },
    'responses follow the contract': {
      file: 'pims/reads/storefront.ts',
      good: "is_dropship: order['DROP_SHIP'] === 'Y',",
      broken: "is_dropship: order['DROP_SHIP'],",
      says: /is not as openapi\.json says/,
    },
  },
  'system/kill.test.ts': {
    'the response is sent after the commit': {
      file: 'store/sqlite/write-queue.ts',
      good: "db.runSql('COMMIT');",
      // Leaves out control.db, whose other transactions would find this one open.
      broken: `if (db.file.includes('tenants')) {
          for (const { complete } of group) complete();
          await options.clock.sleep(5);
        }
        db.runSql('COMMIT');`,
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
      file: 'store/postgres/control-database.ts',
      good: 'WHERE n."SEQUENCE" < excluded."SEQUENCE" RETURNING 1',
      broken: 'RETURNING 1',
      says: /✖ calls whose count is cut off after its commit[^]*\d+ of \d+ calls are counted/,
    },
    'counts and reads are retried when their connection is lost': {
      file: 'store/postgres/connection/shared-connection.ts',
      good: '!(fault instanceof ConnectionLost) || fault.isSilent',
      broken: 'true as boolean',
      says: /✖ calls whose count is cut off after its commit[^]*503 !== 200/,
    },
    'the response is sent after the commit, on PostgreSQL': {
      file: 'store/postgres/writes/write-queue.ts',
      good: '(open) => runGroup(open, begins, lock(open), expected)',
      broken: `async (open) => {
        const early = await runGroup(open, begins, lock(open), expected);
        for (const [index, { resolve }] of writes.entries()) resolve(early.outcomes[index] as never);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return early;
      }`,
      says: LOSS,
    },
    'a write whose COMMIT has no response is not written again': {
      file: 'store/postgres/connection/shared-connection.ts',
      good: '!fault.isSilent && !isCommitSent',
      broken: '!fault.isSilent',
      says: /✖ a write whose COMMIT has no response/,
    },
    'nodes that start together change the schema one after the other': {
      file: 'store/postgres/migrate.ts',
      good: 'SELECT pg_advisory_lock(${MIGRATION_LOCK})',
      // Makes all nodes continue at the same instant.
      broken: 'SELECT pg_sleep(8 - extract(epoch FROM clock_timestamp()) % 8)',
      says: /before it was ready/,
    },
    'a node forgets the keys that it keeps': {
      file: 'store/postgres/control-database.ts',
      good: 'const isUsed = known && clock.elapsed() < known.until && counts.isIdle;',
      broken: 'const isUsed = known && clock.elapsed() < known.until + 5000;',
      says: /calls with the old keys that succeeded after they were replaced/,
    },
  },
  'system/database-loss.test.ts': {
    'a server that does not respond is given up': {
      file: 'store/postgres/store.ts',
      good: 'const SILENCE_MS = 1400;',
      broken: 'const SILENCE_MS = 60_000;',
      says: /✖ frozen/,
    },
    'the end of an idle connection is expected': {
      file: 'store/postgres/connection/connection.ts',
      good: "client.on('error', (fault) => connection.destroy(fault.message));",
      broken: '',
      says: /the service has ended|fetch failed/,
    },
    'the node notices that the database is available again': {
      file: 'store/postgres/connection/servers.ts',
      good: 'onLost(); askAfter(ASK_WHILE_LOST_MS);',
      broken: 'onLost(); if (isUsable) askAfter(ASK_WHILE_LOST_MS);',
      says: /✖ stopped: every call gets a response, the node recovers by itself/,
    },
  },
  'system/database-locks.test.ts': {
    'a lock is waited for within bounds': {
      file: 'store/postgres/store.ts',
      good: 'statement_timeout: isService ? STATEMENT_MS : COMMAND_STATEMENT_MS, lock_timeout: LOCK_MS,',
      broken: '',
      says: /✖ 400 writes of a tenant with a locked row/,
    },
    'writes that have waited too long are refused': {
      file: 'store/postgres/writes/write-queue.ts',
      good: 'const WAIT_MS = 1200;',
      broken: 'const WAIT_MS = 60_000;',
      says: /✖ a write that has waited 1201 ms/,
    },
    'a query has a budget': {
      file: 'store/postgres/store.ts',
      good: 'statement_timeout: queryBudgetMs,',
      broken: '',
      says: /✖ 400 QUERY_TOO_COSTLY for a query over its budget/,
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
  'api/batch.test.ts': {
    'a batch is one transaction': {
      file: 'store/sqlite/write-queue.ts',
      good: 'return !(result instanceof Refusal);',
      broken: 'return true;',
      says: /✖ a refusal has the status and body of the refused single call, with its step; nothing is written/,
    },
    'each step of a batch counts': {
      file: 'http/call/admit.ts',
      good: 'sign * steps.length',
      broken: 'sign',
      says: /✖ each step counts as one call of its operation/,
    },
    'an idempotency key covers the whole batch': {
      file: 'http/call/stages.ts',
      good: 'body.map((step) => [',
      broken: 'body.slice(0, 1).map((step) => [',
      says: /✖ an Idempotency-Key covers a whole batch/,
    },
    'a $ at the start is written $$': {
      file: 'pims/batch.ts',
      good: "value.startsWith('$$') ? value.slice(1) : value",
      broken: 'value',
      says: /✖ 200 \$N\.data is replaced by the data of step N/,
    },
    'a refusal names its step': {
      file: 'pims/batch.ts',
      good: 'fault.atStep(step)',
      broken: 'fault.atStep(step + 1)',
      says: /✖ a refusal has the status and body of the refused single call, with its step/,
    },
  },
  'api/keys.test.ts': {
    'keys that may read send no batch': {
      file: 'tenant/keys.ts',
      good: 'if (!key || SCOPES.indexOf(key.scope) >= SCOPES.indexOf(needed)) return;',
      broken: 'return;',
      says: /✖ 403 SCOPE_MISSING for a batch/,
    },
  },
  'api/fills.test.ts': {
    'a line has the price of its part': {
      file: 'pims/rules/order.ts',
      good: "values['UNIT_PRICE'] ?? part['UNIT_PRICE'] ?? ''",
      broken: "values['UNIT_PRICE'] ?? ''",
      says: /✖ a new line has QUANTITY 1, and DESCRIPTION, UNIT_PRICE and CARE_PLAN from its part/,
    },
    'a line without QUANTITY is one unit': {
      file: 'pims/rules/order.ts',
      good: "{ QUANTITY: '1', ...fillFromPart",
      broken: '{ ...fillFromPart',
      says: /✖ a new line has QUANTITY 1/,
    },
  },
  'api/totals.test.ts': {
    'a changed line moves the totals by the difference': {
      file: 'pims/rules/totals.ts',
      good: 'before ? subtractDecimals(amountOf(after), amountOf(before)) : amountOf(after)',
      broken: 'amountOf(after)',
      says: /✖ SUBTOTAL is the sum of the lines/,
    },
  },
  'api/sort.test.ts': {
    'a cursor belongs to its sort': {
      file: 'http/operations/cursor.ts',
      good: 'const query = sort === undefined ? [] : [{ sort }];',
      broken: 'const query: object[] = [];',
      says: /✖ 400 INVALID_CURSOR for the cursor of another operator, value or sort/,
    },
  },
  'api/etags.test.ts': {
    'responses with other fields have other ETags': {
      file: 'http/server/answer.ts',
      good: 'if (fields === undefined) reply',
      broken: "if (fields !== '') reply",
      says: /✖ 304 only for the requested fields/,
    },
  },
  'limits/room.test.ts': {
    'a refusal has no ETag': {
      file: 'http/call/error-answers.ts',
      good: "reply.removeHeader('etag');",
      broken: "reply.getHeader('etag');",
      says: /✖ 429 TOO_MANY_QUERIES has no ETag for a record that was read/,
    },
  },
  'system/rolling-upgrade.test.ts': {
    'a tenant that a node of the previous version creates meanwhile is migrated': {
      file: 'store/postgres/store.ts',
      good: 'if (!found || found[0] >= PIMS_VERSION()) return;',
      broken: 'if (found) return;',
      says: /✖ the first new node migrates all tenants/,
    },
  },
  'store/postgres-plans.test.ts': {
    'a list of dates is found by an index': {
      file: 'store/pims/where.ts',
      good: "field.indexed && field.type !== 'timestamp' && !isKey",
      broken: "field.indexed && field.type === 'text' && !isKey",
      says: /✖ ORDERS_ORDER_DATE finds/,
    },
  },
};

/**
 * Returns the source with the good code replaced by the broken code. The layout of the source is free: white space
 * between words and signs and a comma before a closing bracket do not count. Throws unless the good code is there once.
 */
export function breakPromise(source: string, { file, good, broken }: Omit<Break, 'says'>): string {
  const words = good.match(/\w+|[^\w\s]/g)!;
  const pattern = words.map((word) => (/[)\]}]/.test(word) ? ',?\\s*' : '') + RegExp.escape(word)).join('\\s*');
  const [before, after, ...more] = source.split(new RegExp(pattern));
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`${file} has to have this once:\n${good}`);
  return before + broken + after;
}
