/** Connects webhooks with the store and the settings of the service: their administration, and their sender. */
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../store/open.ts';
import { Webhooks, type WebhookServices } from '../../webhooks/administration.ts';
import { WebhookSender } from '../../webhooks/sender.ts';

interface WebhookOptions extends Pick<WebhookServices, 'pims'> {
  readonly clock: Clock;
  readonly report: (event: string) => void;
}

export function makeWebhooks(
  store: Store,
  { databaseUrl, webhookPrivate }: Config,
  { pims, clock, report }: WebhookOptions,
): { readonly webhooks: Webhooks; readonly sender: WebhookSender } {
  const services = { webhooks: store.webhooks, pims, clock, isPrivateAllowed: webhookPrivate === 'on' };
  const sender = new WebhookSender({
    ...services,
    tenants: store.tenants,
    nextChange: (tenant, ended) => store.nextChange(tenant, ended),
    report,
    isAlone: databaseUrl === '',
  });
  return { webhooks: new Webhooks(services), sender };
}
