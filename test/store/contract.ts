// The promises of the ports, as one suite that every store passes: `describeStore('SQLite', (place) => …)`.
// Each place is an empty store of its own; the same place opened twice is one store.
import { suite } from 'node:test';
import { describeAccounts } from './contract-accounts.ts';
import { describeAudit } from './contract-audit.ts';
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
import { StoreUnderTest, type OpenStore } from './store-under-test.ts';

const PARTS = {
  'numbers and outcomes': describeNumbers,
  'calls sent at once': describeGroups,
  'repeated writes': describeRepetition,
  'orders, lines and stock': describeOrders,
  queries: describeQueries,
  'import and export': describeImport,
  'field dictionaries': describeFields,
  'tenants, keys and usage': describeTenants,
  'named keys': describeKeys,
  'the request log': describeRequests,
  'people and sessions': describeAccounts,
  'the audit log': describeAudit,
};

export function describeStore(name: string, openStore: OpenStore): void {
  suite(name, () => {
    for (const [index, [part, describe]] of Object.entries(PARTS).entries())
      suite(part, () => describe(new StoreUnderTest(openStore, `contract-${index}`)));
  });
}
