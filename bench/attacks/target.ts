/** The tenants of the attacks and their records, made through the command line before the attacks begin. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { times } from '../../test/kit/lists.ts';
import { FIELDS } from '../../test/kit/records.ts';
import { temporaryFolder, type Keys, type Service } from '../../test/kit/service.ts';

/** Everything that the processes of the attacks need. */
export interface Target {
  readonly origin: string;
  /** Attacks. */
  readonly greedy: Keys;
  /** Attacks too; has wide orders, and may make one call a second. */
  readonly wide: Keys;
  readonly limited: Keys;
  /** Is attacked. */
  readonly quiet: Keys;
  /** Make more calls than can be answered. */
  readonly busy: readonly { readonly keys: Keys; readonly order: string }[];
  readonly orderOf: { readonly quiet: string; readonly manyLines: string };
}

export const NUMBER_OF_MANY = '#many';
const SIZES = { customers: 100_000, ordersOfNumber: 30_000, lines: 100_000, wideOrders: 300 };
const FIELD_CHARACTERS = 8000;
const BUSY = 8;

/** Makes them in a service that runs. Rows beyond a limit of the service are left out by it. */
export async function makeTarget(service: Service): Promise<Target> {
  const [greedy, wide, quiet] = [
    await service.makeTenant('greedy'),
    await service.makeTenant('wide'),
    await service.makeTenant('quiet'),
  ];
  const limited = await service.makeTenant('limited', '--rate', '1');
  const notes = 'Nothing of note was said and no one wrote anything else down either. '.repeat(4);
  await load(service, greedy, 'customers', ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'NOTES'], SIZES.customers, (i) => [
    `C${i}`,
    `Firm ${i}`,
    `${notes}${i}`,
  ]);
  await load(service, greedy, 'orders', ['ORDER_NUMBER', 'REFERENCE_NUMBER'], SIZES.ordersOfNumber, (i) => [
    String(i + 1),
    i === 0 ? '#lines' : NUMBER_OF_MANY,
  ]);
  await load(service, greedy, 'lines', ['ORDER_NUMBER', 'DESCRIPTION', 'QUANTITY'], SIZES.lines, (i) => [
    '1',
    `Line ${i}`,
    '1',
  ]);
  const texts = FIELDS.orders.filter((name) =>
    /^([BS](?!UBTOTAL)|NOTES|PO_NUMBER|SALES|TERMS|SHIP_VIA|ORDER_STATUS)/.test(name),
  );
  await load(service, wide, 'orders', ['ORDER_NUMBER', ...texts], SIZES.wideOrders, (i) => [
    String(i + 1),
    ...texts.map(() => 'x'.repeat(FIELD_CHARACTERS)),
  ]);
  await load(service, quiet, 'orders', ['ORDER_NUMBER', 'REFERENCE_NUMBER', 'BNAME'], 1000, (i) => [
    String(i + 1),
    `#${i}`,
    `Buyer ${i}`,
  ]);
  const busy = [];
  for (const teamID of times(BUSY, (index) => `busy${index}`)) {
    const keys = await service.makeTenant(teamID);
    const { body } = await service.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: '#first' } });
    busy.push({ keys, order: body.data as string });
  }
  const orderOf = { quiet: '500', manyLines: '1' };
  return { origin: service.origin, greedy, wide, limited, quiet, busy, orderOf };
}

async function load(
  service: Service,
  { teamID }: Keys,
  recordType: string,
  names: readonly string[],
  count: number,
  row: (index: number) => string[],
): Promise<void> {
  const file = join(temporaryFolder(), `${recordType}.csv`);
  // No value has a comma or a quote in it.
  writeFileSync(file, [names, ...times(count, row)].map((cells) => cells.join(',')).join('\n'));
  const { stdout, stderr, json } = await service.command('import', teamID, recordType, file, '--json');
  assert.ok(
    stdout !== '' && (json() as { imported: number }).imported > 0,
    `import of ${recordType}: ${stderr}${stdout.slice(0, 300)}`,
  );
}
