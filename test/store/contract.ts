// The promises of the ports, as one suite that every store passes: `describeStore('SQLite', (place) => …)`.
// Each place is an empty store of its own; the same place opened twice is one store.
import { suite } from 'node:test';
import { describeAccounts } from './contract-accounts.ts';
import { describeAudit } from './contract-audit.ts';
import { describeChanges } from './contract-changes.ts';
import { describeFields } from './contract-fields.ts';
import { describeGroups } from './contract-groups.ts';
import { describeImport } from './contract-import.ts';
import { describeKeys } from './contract-keys.ts';
import { describeNumbers } from './contract-numbers.ts';
import { describeOrders } from './contract-orders.ts';
import { describeQueries } from './contract-queries.ts';
import { describeRepetition } from './contract-repetition.ts';
import { describeRequests } from './contract-requests.ts';
import { describeTenants } from './contract-tenants.ts';
import { describeWebhooks } from './contract-webhooks.ts';
import { StoreUnderTest, type OpenStore } from './store-under-test.ts';

/** Groups of about the same length, each in a file of its own where a store is slow. */
export const GROUPS = {
  writes: {
    'numbers and outcomes': describeNumbers,
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

/** The parts of a group run at the same time: each has a place of its own. */
export function describeStore(name: string, group: Group, openStore: OpenStore): void {
  suite(`${name}: ${group}`, { concurrency: true }, () => {
    for (const [part, describe] of Object.entries(GROUPS[group]))
      suite(part, { concurrency: false }, () => describe(new StoreUnderTest(openStore, `contract: ${part}`)));
  });
}
