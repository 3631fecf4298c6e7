/** The tenant's webhooks: endpoints, their secrets, which are shown once, and their deliveries. */
import { actorOf, type DashboardServices, type Handlers } from './typed-route.ts';

const PAGE_DELIVERIES = 50;

export const webhookRoutes = ({ webhooks }: DashboardServices) =>
  ({
    'GET /webhooks': async ({ signedIn: { tenant } }) => ({ webhooks: await webhooks.list(tenant) }),
    'POST /webhooks': (context) => {
      const { url, types } = context.body;
      return webhooks.add(context.signedIn.tenant, url, types, actorOf(context));
    },
    'POST /webhooks/remove': (context) => webhooks.remove(context.signedIn.tenant, context.body.id, actorOf(context)),
    'POST /webhooks/test': ({ signedIn: { tenant }, body }) => webhooks.test(tenant, body.id),
    'POST /webhooks/pause': (context) => webhooks.pause(context.signedIn.tenant, context.body.id, actorOf(context)),
    'POST /webhooks/replay': (context) =>
      webhooks.replay(context.signedIn.tenant, context.body.id, context.body.after, actorOf(context)),
    'POST /webhooks/rotate': (context) => webhooks.rotate(context.signedIn.tenant, context.body.id, actorOf(context)),
    'GET /webhooks/deliveries': async ({ signedIn: { tenant }, query: { id, before } }) => {
      const last = Number(before ?? Number.MAX_SAFE_INTEGER);
      const found = await webhooks.loadDeliveries(tenant, id, last, PAGE_DELIVERIES + 1);
      const deliveries = found.slice(0, PAGE_DELIVERIES).map((one) => ({ ...one, number: String(one.number) }));
      return { deliveries, next: found.length > PAGE_DELIVERIES ? deliveries.at(-1)!.number : null };
    },
  }) satisfies Partial<Handlers>;
