/** Lists the test files that only `npm run test:all` runs, and why. Shorter tests cover part of what they guarantee. */

interface SlowFiles {
  readonly files: readonly string[];
  /** The store on which the files are left out; without it, both. */
  readonly store?: 'postgres';
  readonly reason: string;
}

export const SLOW: readonly SlowFiles[] = [
  {
    files: ['test/deploy/systemd.test.ts'],
    reason: 'runs systemd-analyze, which few machines of developers have',
  },
  {
    files: ['test/release/release-files.test.ts'],
    reason: 'only what releases are made with, and the schema of CycloneDX takes two seconds to compile',
  },
  {
    files: ['test/release/upkeep.test.ts'],
    reason: 'only what maintainers run before a release; each run starts npm ten times',
  },
  {
    files: ['test/deploy/kubernetes.test.ts', 'test/deploy/compose.test.ts'],
    reason: 'files that few changes touch; compiles the manifests and starts a PostgreSQL',
  },
  {
    files: ['test/deploy/image-build.test.ts'],
    reason: 'builds the program as the image does; the gate builds the image itself, and test:bundle the program',
  },
  {
    files: ['test/dashboard/pages-axe.test.ts'],
    reason: 'every page and dialog in two looks; pages-load checks the sign-in page and the records with axe',
  },
  {
    files: ['test/dashboard/throttle.test.ts'],
    reason: 'guesses one by one over HTTP; test/account has the rules and the waits',
  },
  {
    files: ['copy', 'kills', 'rate'].map((name) => `test/examples/${name}.test.ts`),
    reason:
      'kills the programs of examples/ and the service; integration.test.ts and test/client have what they do without',
  },
  {
    files: ['test/client/package.test.ts', 'test/client/runtimes.test.ts'],
    reason: 'packs the client and installs Deno, Bun and Node 20 for it; operations and repeats run the same sources',
  },
  {
    files: ['test/client/generators.test.ts'],
    reason: 'installs three generators of clients; test/contract has what they read: credentials, types and steps',
  },
  {
    files: ['test/system/command-kill.test.ts'],
    reason: 'kills backups, restores of a tenant and upgrades; move.test.ts kills a command that writes files too',
  },
  {
    files: ['test/limits/stalled-answers.test.ts'],
    reason: 'each way a connection can be given up; unread-answers has what such connections cost',
  },
  {
    files: ['test/postgres.test.ts'],
    reason: 'that the PostgreSQL of the tests ends with them, however they end; npm test stops its own at its end',
  },
  {
    files: ['test/run.test.ts'],
    reason: 'runs within the run, and three browsers unpacked at once; each run uses what they prove',
  },
  {
    files: ['test/dashboard/pages-explorer.test.ts'],
    reason: 'each operation in a browser; test/contract and test/bruno send the same examples',
  },
  {
    files: [
      'keys',
      'people',
      'records',
      'reference',
      'session',
      'strict',
      'usage',
      'shop-day',
      'import',
      'lists',
      'find',
      'dialogs',
    ].map((name) => `test/dashboard/pages-${name}.test.ts`),
    reason:
      'test/account and test/pims have the rules, test/dashboard the answers; load and refresh run in the browser',
  },
  {
    files: ['authentication', 'cancelOrder', 'custom-fields', 'etags', 'filter-operators', 'filters', 'idempotency']
      .concat('keys', 'life-cycle', 'metering', 'paging', 'queryOrders', 'reading', 'sort', 'strict-tenant', 'totals')
      .concat('addLineItem', 'createCustomer', 'createOrder', 'fills', 'updateLineItem', 'updateOrder')
      .map((name) => `test/api/${name}.test.ts`),
    store: 'postgres',
    reason:
      'their rules are in the contract and in the differential tests; operations and recorded-answers run on both',
  },
  {
    files: ['authorization-header', 'compression', 'http', 'http-bodies', 'service-paths'].map(
      (name) => `test/api/${name}.test.ts`,
    ),
    store: 'postgres',
    reason: 'HTTP is read and refused before the store is asked; every operation is called on both stores',
  },
  {
    files: ['values', 'order-of-checks'].map((name) => `test/api/${name}.test.ts`),
    store: 'postgres',
    reason:
      'values are read, and faults put in order, before the store is asked; the differential test keeps text on both',
  },
  {
    files: ['bodies', 'connections', 'cursors', 'open-tenants', 'record-pages', 'room', 'secrets-in-log']
      .concat('unread-answers')
      .map((name) => `test/limits/${name}.test.ts`),
    store: 'postgres',
    reason: 'their bounds apply before the store is asked, or to its files; queries and pages run on both stores',
  },
  {
    files: ['late-loop', 'request-log'].map((name) => `test/limits/${name}.test.ts`),
    reason: 'a process that is held, and floods; room has what is refused, test/request-log the rules of the log',
  },
  {
    files: ['test/limits/packed-answers.test.ts'],
    reason: 'attacks that compression could make more expensive; test/api/compression has 64 pages at once',
  },
  {
    files: ['test/limits/fairness.test.ts'],
    store: 'postgres',
    reason: 'reads by key have separate connections there; costly-queries has the turns on both stores',
  },
  {
    files: ['test/system/scheduled-backups.test.ts'],
    reason:
      'a service that is killed and started again; test/store has when a backup is due, and each way one can fail',
  },
  {
    files: ['test/webhooks/faults.test.ts'],
    reason:
      'receivers that fail in every way, and a service that is killed; schedule has order, retries and signatures',
  },
  {
    files: ['test/webhooks/schedule.test.ts', 'test/webhooks/addresses.test.ts'],
    store: 'postgres',
    reason: 'the sender asks the store through a port whose contract runs on both; faults runs on both',
  },
  {
    files: ['test/dashboard/pages-changes.test.ts', 'test/dashboard/pages-webhooks.test.ts'],
    reason: 'test/api has the feed and test/webhooks the deliveries; load and refresh run in the browser',
  },
  {
    files: ['test/system/failover.test.ts'],
    reason:
      'two PostgreSQL servers, killed and rebuilt under load; database-loss has a database that goes and comes back',
  },
  {
    files: ['test/system/failover-page.test.ts'],
    reason: 'three PostgreSQL servers; postgres-servers has how a primary is found',
  },
  {
    files: ['test/dashboard/second-factor.test.ts'],
    reason: 'each answer over HTTP; test/account has the rules',
  },
  {
    files: ['test/dashboard/sign-in.test.ts'],
    reason: 'test/account has the rules, test/store what both stores keep; pages-load signs in, sessions run on both',
  },
  {
    files: ['test/guards.test.ts'],
    reason: 'that the checkers see what is planted; tidy.test.ts has what they find, and npm run check the linter',
  },
  {
    files: ['test/system/lost-files.test.ts'],
    reason:
      'a service over each file that is lost or damaged; sqlite-files has what the store says, check what is found',
  },
  {
    files: ['test/system/demo-tenant.test.ts'],
    reason: 'starts over again, one of them killed; test/docs has a first start, its tenant and its calls',
  },
  {
    files: ['test/system/nodes.test.ts'],
    reason: 'three nodes, killed, restarted and cut off; database-loss has cuts, and the contract two stores at once',
  },
  {
    files: ['test/system/changes-kill.test.ts'],
    reason: 'readers of the feed beside a service that is killed; kill has what is lost, the contract the feed',
  },
  {
    files: ['test/limits/stolen-session.test.ts'],
    reason: 'every change of the dashboard without a proof; test/account has the rules of proofs and of throttles',
  },
  {
    files: ['test/system/request-log-kill.test.ts'],
    store: 'postgres',
    reason: 'kill counts calls on both stores, and the log is in the contract that both pass',
  },
  {
    files: ['test/api/naughty-strings.test.ts'],
    store: 'postgres',
    reason: 'the differential test sends texts of that kind to both stores',
  },
  {
    files: ['test/system/mcp.test.ts'],
    reason: 'a process for each agent, and every tool called; mcp-tools has the tools, their requests and cut answers',
  },
  {
    files: ['test/system/lost-updates.test.ts'],
    reason: '64 clients at once over up to three nodes; etags has If-Match call by call, on both stores',
  },
  {
    files: ['test/system/online-retail.test.ts'],
    store: 'postgres',
    reason: 'a file of real orders through the command; the import is in the contract that both stores pass',
  },
  {
    files: ['test/system/move-service.test.ts'],
    reason: 'every answer and export before and after; move compares the rows of all tables by their digests',
  },
  {
    files: ['test/system/postgres-proxy.test.ts'],
    reason: 'that the line which fails does what it says; database-loss and nodes use it',
  },
  {
    files: ['test/system/first-start.test.ts'],
    reason: 'ten starts; test/docs has what a first start prints, and the commands that it offers',
  },
  {
    files: ['test/limits/large-records.test.ts'],
    reason: 'queries over 18 MB at once; large-orders has the memory that one order costs',
  },
  {
    files: ['large-orders', 'large-answers', 'lines'].map((name) => `test/limits/${name}.test.ts`),
    store: 'postgres',
    reason: 'the bounds are above the store, and the contract has orders of as many lines',
  },
  {
    files: ['test/api/requests-command.test.ts'],
    store: 'postgres',
    reason: 'what the command shows is the log, which is in the contract that both stores pass',
  },
  {
    files: ['test/api/http-connections.test.ts'],
    reason: '600 connections, and headers that never end; limits/connections has how many may be open',
  },
  {
    files: ['batch', 'listChanges'].map((name) => `test/api/${name}.test.ts`),
    store: 'postgres',
    reason: 'the differential test sends batches to both stores, and the feed is in the contract that both pass',
  },
  {
    files: ['test/system/restore-kill.test.ts'],
    reason: 'kills a restore at many points; move.test.ts kills a command that writes files too',
  },
  {
    files: ['test/dashboard/operate.test.ts'],
    reason: 'readings of the process, which test/api/metrics has, and a backup, which test/store has',
  },
  {
    files: ['test/system/stop.test.ts'],
    store: 'postgres',
    reason: 'signals are for the process; what is lost when it is killed is tested on both stores',
  },
  {
    files: ['audit', 'keys', 'orders-and-fields', 'requests', 'usage'].map((name) => `test/dashboard/${name}.test.ts`),
    store: 'postgres',
    reason: 'entries, keys, fields and calls are in the contract that both stores pass; sessions run on both',
  },
  {
    files: ['cross-site', 'headers', 'roles'].map((name) => `test/dashboard/${name}.test.ts`),
    store: 'postgres',
    reason: 'who may ask, and with which headers, is decided before the store is asked; isolation runs on both',
  },
  {
    files: ['alerts', 'prometheus'].map((name) => `test/deploy/${name}.test.ts`),
    reason: 'run promtool and prometheus of Debian; watched-names has the names, test/api/metrics the metrics',
  },
  {
    files: ['test/system/wrong-files.test.ts'],
    reason: 'a service and a check over each wrong file; sqlite-files has what the store says of them',
  },
  {
    files: ['test/dashboard/pages-order-forms.test.ts'],
    reason: 'test/pims has numbers and refusals, test/dashboard/stock the answers; load and refresh run in the browser',
  },
  {
    files: ['test/limits/large-writes.test.ts'],
    store: 'postgres',
    reason: 'a write too large to share its reads is in the contract that both stores pass',
  },
  {
    files: ['admission', 'repetition'].map((name) => `test/dashboard/${name}.test.ts`),
    store: 'postgres',
    reason: 'limits are above the store, and repeated writes in the contract that both stores pass',
  },
  {
    files: ['test/system/traces.test.ts', 'test/system/log-levels.test.ts'],
    reason:
      'start a dozen services between them; traces are off unless asked for, and test/system/stop has the signals',
  },
  {
    files: ['office', 'returns'].map((name) => `test/api/${name}.test.ts`),
    store: 'postgres',
    reason: 'every kind of write, at once and in turn, is in the contract and in the model test, on both stores',
  },
  {
    files: ['test/system/kill.test.ts', 'test/limits/costly-queries.test.ts'],
    store: 'postgres',
    reason: 'database-loss kills what calls run on, and the turns are above the store',
  },
  {
    files: ['test/system/rolling-upgrade.test.ts', 'test/store/postgres-servers.test.ts'],
    reason: 'nodes of two versions, and two servers that are promoted; upgrade has migrations, database-loss a restart',
  },
];
