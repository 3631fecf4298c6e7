/** The tenant's webhooks: endpoints, their secrets, which are shown once, and their deliveries. */
import type { DashboardServices, Handlers } from './typed-route.ts';

const PAGE_DELIVERIES = 50;

export const webhookRoutes = ({ webhooks }: DashboardServices) =>
  ({
    'GET /webhooks': async ({ tenant }) => ({ webhooks: await webhooks.list(tenant) }),
    'POST /webhooks': ({ tenant, body, actor }) => webhooks.add(tenant, body.url, body.types, actor),
    'POST /webhooks/remove': ({ tenant, body, actor }) => webhooks.remove(tenant, body.id, actor),
    'POST /webhooks/test': ({ tenant, body }) => webhooks.test(tenant, body.id),
    'POST /webhooks/pause': ({ tenant, body, actor }) => webhooks.pause(tenant, body.id, actor),
    'POST /webhooks/replay': ({ tenant, body, actor }) => webhooks.replay(tenant, body.id, body.after, actor),
    'POST /webhooks/rotate': ({ tenant, body, actor }) => webhooks.rotate(tenant, body.id, actor),
    'GET /webhooks/deliveries': async ({ tenant, query: { id, before } }) => {
      const last = Number(before ?? Number.MAX_SAFE_INTEGER);
      const found = await webhooks.loadDeliveries(tenant, id, last, PAGE_DELIVERIES + 1);
      const deliveries = found.slice(0, PAGE_DELIVERIES).map((one) => ({ ...one, number: String(one.number) }));
      return { deliveries, next: found.length > PAGE_DELIVERIES ? deliveries.at(-1)!.number : null };
    },
  }) satisfies Partial<Handlers>;
