/**
 * Starts a service whose demo tenant has worked for some days, for pictures of the dashboard: successful and failed
 * calls, keys of several programs, replaced keys, users, custom fields, and an order invoiced in part. For the calls of
 * earlier days, the service runs with an earlier clock.
 */
import { Service, type Keys } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { PRIVATE, Receiver } from '../webhooks/receiver.ts';
import { codeOf, expectOk, PASSWORD, Visitor } from './visitor.ts';

const TEAM = 'demo';
const DAY_MS = 86_400_000;
/** Rounds of calls that the team made today, a day ago, two days ago, … */
const ROUNDS = [5, 17, 6, 21, 11, 0, 0, 14, 9, 4];

/** Invoices two units of each of the two lines of an order of the demo tenant. */
export const PARTIAL_INVOICE = {
  quantities: { 1: '2', 2: '2' },
  serials: { 1: ['FK6S2A0917', 'FK6S2A0922'] },
  tracking: ['PG7740219907'],
};

export interface BusyTeam {
  readonly service: Service;
  readonly owner: Visitor;
  /** A developer with a second factor. */
  readonly withFactor: Visitor;
  /** The one-time link of a user who has not set a password yet. */
  readonly link: string;
  /** The sales order that a partial invoice left. */
  readonly order: string;
  /** The partial invoice. */
  readonly invoice: string;
  /** ID of a webhook whose endpoint answers. */
  readonly webhook: string;
  /** ID of a request that was refused. */
  readonly requestID: string;
}

/** Starts a service whose clock is this many days behind. */
function startEarlier(daysAgo: number, place?: string): Promise<Service> {
  const code = `const Real = Date, by = ${daysAgo * DAY_MS};
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() - by) : super(...given); }
      static now() { return Real.now() - by; }
    };`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`, STOREROOM_DEMO: 'on' };
  return Service.start({ ...(place !== undefined && { place }), env });
}

export async function startBusyTeam(): Promise<BusyTeam> {
  const firstDay = ROUNDS.length - 1;
  let service = await startEarlier(firstDay);
  const owner = new Visitor(service, TEAM, 'owner@example.com');
  await owner.open(/link#(\S+)/.exec(service.output)![1]!);
  const [, apiID = '', apiSecret = ''] = /'(sr_id_\w+):(sr_sk_\w+)'/.exec(service.output) ?? [];
  let keys: Keys = { teamID: TEAM, apiID, apiSecret };
  for (let daysAgo = firstDay; daysAgo > 0; daysAgo--) {
    if (ROUNDS[daysAgo] === 0) continue;
    await service.stop();
    service = await startEarlier(daysAgo, service.place);
    await makeCalls(service, keys, ROUNDS[daysAgo]!);
  }
  await service.stop();
  service = await Service.start({ place: service.place, env: PRIVATE });

  const today = new Visitor(service, TEAM, owner.email);
  await expectOk(today.signIn());
  const withFactor = await Visitor.make(service, TEAM, 'developer', 'dana@example.com');
  await Visitor.make(service, TEAM, 'viewer', 'victor@example.com');
  const { secret } = await withFactor.ask('POST /second-factor/begin');
  await withFactor.ask('POST /second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret, service) });
  const { link } = await today.ask('POST /users', { email: 'newcomer@example.com', role: 'viewer' });

  const webhook = await addWebhooks(today);
  keys = await today.ask('POST /keys/replace', { overlap: '7d' });
  await makeCalls(service, keys, ROUNDS[0]!);
  const warehouse = await today.ask('POST /keys', { name: 'Warehouse', scope: 'write' });
  await makeCalls(service, warehouse, 2);
  const reports = await today.ask('POST /keys', { name: 'Monthly reports', scope: 'read', days: 90 });
  await service.call(reports, 'POST', '/orders/query', { body: [] });
  await today.ask('POST /fields', { recordType: 'orders', name: 'GIFT_MESSAGE', type: 'text' });
  await today.ask('POST /fields', { recordType: 'customers', name: 'LOYALTY_SINCE', type: 'date' });
  const { BACKORDER_NUMBER: backorder } = (await expectOk(today.invoice('20010', PARTIAL_INVOICE))).body.data as {
    BACKORDER_NUMBER: string;
  };
  await until(
    async () => (await today.ask('GET /webhooks')).webhooks.some(({ id, lag }) => id === webhook && lag === 0),
    () => service.move(100), // a user may call 20 times a second
  );
  const { requests } = await today.ask('GET /requests', { status: '4xx' });
  const refused = requests.find(({ code }) => code === 'UNKNOWN_FIELD')!;
  const shown = { order: backorder, invoice: '20010', webhook, requestID: refused.requestID };
  return { service, owner: today, withFactor, link, ...shown };
}

/** Adds a webhook whose endpoint answers and a paused one. Returns the ID of the first. */
async function addWebhooks(owner: Visitor): Promise<string> {
  const receiver = await Receiver.start();
  const { url } = receiver;
  const { id, secret } = await owner.ask('POST /webhooks', { url, types: [] });
  receiver.secrets = [secret];
  await owner.ask('POST /webhooks/test', { id });
  const other = await owner.ask('POST /webhooks', { url: `${url}&mail=1`, types: ['customers'] });
  await owner.ask('POST /webhooks/pause', { id: other.id });
  return id;
}

/** Calls the service as a shop's programs would: mostly reads, some writes, and now and then a refused call. */
async function makeCalls(service: Service, keys: Keys, rounds: number): Promise<void> {
  const call = service.call.bind(service, keys);
  for (let round = 0; round < rounds; round++) {
    await call('GET', '/orders/single', { query: { orderNum: String(20001 + (round % 14)) } });
    const reference = { storefront_order_number: `#${1001 + (round % 12)}` };
    await call('GET', '/orders/by_storefront_reference', { query: reference });
    const body = [{ field: 'CATEGORY', value: 'phone', contains: true }];
    await call('POST', '/inventory/query', { query: { maxReturn: '20' }, body });
    if (round % 3 === 0)
      await call('POST', '/customers/update', {
        body: { CUSTOMER_CODE: '50003', NOTES: `Called ${round + 1} times.` },
      });
    if (round % 4 === 1) await call('GET', '/customers/single', { query: { customerCode: '59999' } });
    if (round % 4 === 2)
      await call('PUT', '/orders/create', { body: { REFERENC_NUMBER: '#1013', CUSTOMER_CODE: '50003' } });
    if (round % 5 === 0) await call('POST', '/orders/query', { body: [{ field: 'ORDER_STATUS', value: 'OPEN' }] });
  }
}
