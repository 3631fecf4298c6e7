/** The tenants of the attacks and their records, made through the command line before the attacks begin. */
import assert from 'node:assert/strict';
import type { RecordType } from '../../src/pims/rules/fields.ts';
import { times } from '../../test/kit/lists.ts';
import { FIELDS } from '../../test/kit/records.ts';
import { temporaryFolder, type Keys, type Service } from '../../test/kit/service.ts';
import { writeRecords } from '../records/records.ts';

/** Everything that the processes of the attacks need. */
export interface Target {
  readonly origin: string;
  /** A tenant that attacks. It has many customers, and an order with as many lines as the service allows. */
  readonly greedy: Keys;
  /** A tenant that attacks with orders whose fields are long. */
  readonly wide: Keys;
  /** A tenant that attacks although it may make only one call a second. */
  readonly limited: Keys;
  /** The tenant that the onlookers call for. */
  readonly quiet: Keys;
  /** Tenants that together make more calls than the service can answer. */
  readonly busy: readonly { readonly keys: Keys; readonly order: string }[];
  readonly orderOf: { readonly quiet: string; readonly manyLines: string };
}

export const NUMBER_OF_MANY = '#many';
const SIZES = { customers: 100_000, ordersOfNumber: 30_000, lines: 100_000, wideOrders: 300 };
const FIELD_CHARACTERS = 8000;
const BUSY = 8;

/** Makes the tenants and their records in a running service. The service rejects rows beyond its limits. */
export async function makeTarget(service: Service): Promise<Target> {
  const [greedy, wide, quiet] = [
    await service.makeTenant('greedy'),
    await service.makeTenant('wide'),
    await service.makeTenant('quiet'),
  ];
  const limited = await service.makeTenant('limited', '--rate', '1');
  const notes = 'Nothing of note was said and no one wrote anything else down either. '.repeat(4);
  await load(service, greedy, 'customers', SIZES.customers, (i) => ({
    CUSTOMER_CODE: `C${i}`,
    CUSTOMER_NAME: `Firm ${i}`,
    NOTES: `${notes}${i}`,
  }));
  await load(service, greedy, 'orders', SIZES.ordersOfNumber, (i) => ({
    ORDER_NUMBER: String(i + 1),
    REFERENCE_NUMBER: i === 0 ? '#lines' : NUMBER_OF_MANY,
  }));
  await load(service, greedy, 'lines', SIZES.lines, (i) => ({
    ORDER_NUMBER: '1',
    DESCRIPTION: `Line ${i}`,
    QUANTITY: '1',
  }));
  const texts = FIELDS.orders
    .filter((name) => /^([BS](?!UBTOTAL)|NOTES|PO_NUMBER|SALES|TERMS|SHIP_VIA|ORDER_STATUS)/.test(name))
    .map((name) => [name, 'x'.repeat(FIELD_CHARACTERS)]);
  await load(service, wide, 'orders', SIZES.wideOrders, (i) => ({
    ORDER_NUMBER: String(i + 1),
    ...Object.fromEntries(texts),
  }));
  await load(service, quiet, 'orders', 1000, (i) => ({
    ORDER_NUMBER: String(i + 1),
    REFERENCE_NUMBER: `#${i}`,
    BNAME: `Buyer ${i}`,
  }));
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
  recordType: RecordType,
  count: number,
  recordOf: (i: number) => Record<string, string>,
): Promise<void> {
  const { file } = writeRecords(temporaryFolder(), recordType, recordType, count, recordOf);
  const { stdout, stderr, json } = await service.command('import', teamID, recordType, file, '--json');
  const isDone = stdout !== '' && (json() as { imported: number }).imported > 0;
  assert.ok(isDone, `import of ${recordType}: ${stderr}${stdout.slice(0, 300)}`);
}
