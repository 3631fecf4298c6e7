/** Tests the integrations of examples/ against the service: orders in, stock out, status back, and errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byNumber, times } from '../kit/lists.ts';
import { Shop, succeed } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';
import { LANGUAGES, sold, Storefront, type Taken } from './storefront.ts';

const service = await sharedService();

async function keepInStep(language: keyof typeof LANGUAGES): Promise<void> {
  const shop = await Shop.open(service, `status-${language}`);
  await shop.load(
    'inventory',
    times(3, (at) => ({ PART_CODE: `P${at}`, QTY_ONHAND: '10' })),
  );
  const store = new Storefront(LANGUAGES[language], shop);
  for (const number of ['#1', '#2', '#3']) store.sell(sold(number, 2));
  store.start();
  await store.until(() => store.list('taken').length === 3);
  const [first, second] = store
    .list<Taken>('taken')
    .toSorted((a, b) => byNumber(a.orderNumber, b.orderNumber))
    .map(({ orderNumber }) => orderNumber);
  const stateOf = (number: string): string => {
    const { status } = store.list<Taken>('taken').find((one) => one.number === number)!;
    return `${status?.state} ${status?.shipped} of ${status?.ordered}`;
  };
  await store.until(() => stateOf('#1') === 'open 0 of 2' && store.stock()['P0'] === '7');
  const { backorder } = await shop.run<{ backorder: string }>(
    'order',
    'invoice',
    shop.keys.teamID,
    first!,
    '--line',
    '1=1',
  );
  await succeed(shop.cancelOrder({ ORDER_NUMBER: second }));
  await store.until(() => stateOf('#1') === 'partly_shipped 1 of 2' && stateOf('#2').startsWith('cancelled'));
  await shop.run('order', 'invoice', shop.keys.teamID, backorder);
  await store.until(() => stateOf('#1') === 'shipped 2 of 2' && store.stock()['P0'] === '8');
  assert.equal(stateOf('#3'), 'open 0 of 2');
  // The keys have ended, which needs a person, so the program stops and prints the code.
  await shop.run('keys', 'replace', shop.keys.teamID);
  assert.equal(await store.ended(), 1);
  assert.match(store.output, /INVALID_CREDENTIALS/);
}

// Holds S3.14.
test('TypeScript: the next rounds report invoices, cancellations and changes of stock', () => keepInStep('TypeScript'));
// Holds S3.14.
test('Python: the next rounds report invoices, cancellations and changes of stock', () => keepInStep('Python'));

for (const language of ['TypeScript', 'Python'] as const)
  test(`${language}: a used-up quota pauses the program and does not end it`, async () => {
    const shop = await Shop.open(service, `quota-${language}`, '--quota', '1');
    const store = new Storefront(LANGUAGES[language], shop);
    store.start();
    await store.until(() => store.output.includes('QUOTA_EXCEEDED'));
    assert.equal(await store.kill(), null, 'it ran until it was killed');
  });
