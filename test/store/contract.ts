// The promises of the ports, as a suite that every store passes: `describeStore('SQLite', 'writes', (place) => …, …)`.
// Each place is a separate store, empty at first. A place that is opened twice is the same store.
import { suite } from 'node:test';
import { describeAccounts } from './contract-accounts.ts';
import { describeAudit } from './contract-audit.ts';
import { describeChanges } from './contract-changes.ts';
import { describeFields } from './contract-fields.ts';
import { describeGroups } from './contract-groups.ts';
import { describeImport } from './contract-import.ts';
import { describeKeys } from './contract-keys.ts';
import { describeKinds } from './contract-kinds.ts';
import { describeNumbers } from './contract-numbers.ts';
import { describeOrders } from './contract-orders.ts';
import { describeQueries } from './contract-queries.ts';
import { describeRepetition } from './contract-repetition.ts';
import { describeRequests } from './contract-requests.ts';
import { describeTenants } from './contract-tenants.ts';
import { describeWebhooks } from './contract-webhooks.ts';
import { StoreUnderTest, type OpenStore, type RunProcess } from './store-under-test.ts';

/** Groups that take about the same time. For a slow store, each group has a separate test file. */
export const GROUPS = {
  writes: {
    'numbers and outcomes': describeNumbers,
    'every kind of write': describeKinds,
    'calls sent at once': describeGroups,
    'repeated writes': describeRepetition,
    'orders, lines and stock': describeOrders,
  },
  records: {
    queries: describeQueries,
    'the change feed': describeChanges,
    'import and export': describeImport,
  },
  tenants: {
    'tenants, keys and usage': describeTenants,
    'named keys': describeKeys,
    'field dictionaries': describeFields,
    'the request log': describeRequests,
    'people and sessions': describeAccounts,
    'the audit log': describeAudit,
    webhooks: describeWebhooks,
  },
} as const satisfies Record<string, Record<string, (store: StoreUnderTest) => void>>;

export type Group = keyof typeof GROUPS;

/** Runs the parts of a group at the same time, each on a separate place. */
export function describeStore(name: string, group: Group, openStore: OpenStore, runProcess: RunProcess): void {
  suite(`${name}: ${group}`, { concurrency: true }, () => {
    for (const [part, describe] of Object.entries(GROUPS[group]))
      suite(part, { concurrency: false }, () =>
        describe(new StoreUnderTest(openStore, runProcess, `contract: ${part}`)),
      );
  });
}
