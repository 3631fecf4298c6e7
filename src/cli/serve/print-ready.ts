/** Prints the addresses when `serve` listens, and how to try the demo tenant or create the first tenant. */
import { VERSION } from '../../assets.ts';
import { SETTINGS, type Config } from '../../config.ts';
import { BASE_PATH } from '../../http/server/protocol.ts';
import { describeStore } from '../open-store.ts';
import { formatLink } from '../../account/users.ts';
import { findOrigin, formatOrigin } from '../service-address.ts';
import { DEMO_OWNER, type Demo } from './demo-tenant.ts';

interface Start {
  /** The demo tenant, if this start made it. */
  readonly demo: Demo | undefined;
  /** Whether there is no tenant yet. */
  readonly isEmpty: boolean;
  readonly asJson: boolean;
}

export function printReady(config: Config, port: number, { demo, isEmpty, asJson }: Start): void {
  const origin = formatOrigin(config.host, port);
  const dashboardOrigin = findOrigin(config, port);
  const baseURL = origin + BASE_PATH;
  const dashboard = `${dashboardOrigin}/dashboard/`;
  const guides = `${origin}/docs`;
  const reference = `${guides}/reference`;
  const store = describeStore(config);
  const tenant = demo && {
    ...demo.keys,
    owner: DEMO_OWNER,
    ownerLink: formatLink(dashboardOrigin, demo.linkToken),
  };
  const lines = [
    `Storeroom ${VERSION} is ready.`,
    `  Base URL    ${baseURL}`,
    `  Dashboard   ${dashboard}`,
    `  Guides      ${guides}`,
    `  Reference   ${reference}`,
    `  Store       ${store}`,
  ];
  const object = { version: VERSION, baseURL, dashboard, guides, reference, store, demo: tenant };
  if (tenant) lines.push(...describeDemo(tenant, baseURL));
  if (isEmpty) lines.push('', ...listFirstSteps(config));
  process.stdout.write(asJson ? `${JSON.stringify(object)}\n` : `${lines.join('\n')}\n\n`);
}

function describeDemo(
  { teamID, apiID, apiSecret, owner, ownerLink }: Readonly<Record<string, string>>,
  baseURL: string,
): string[] {
  const call = (path: string) => `  curl -u '${apiID}:${apiSecret}' '${baseURL}${path}'`;
  return [
    `  Team ID     ${teamID}`,
    `  API ID      ${apiID}`,
    `  API Secret  ${apiSecret}   (shown only once)`,
    `  Owner       ${owner}: set a password at ${ownerLink}   (works once)`,
    '',
    'Read an order with its lines, and all orders with the storefront number #1001:',
    call(`/orders/single?teamID=${teamID}&orderNum=10248`),
    call(`/orders/by_storefront_reference?teamID=${teamID}&storefront_order_number=%231001`),
  ];
}

function listFirstSteps({ databaseUrl }: Config): string[] {
  const [variable, why] =
    databaseUrl === ''
      ? [SETTINGS.data.variable, '']
      : [SETTINGS.databaseUrl.variable, ' The demo tenant is created only in the embedded store.'];
  return [
    `There is no tenant yet.${why} Create one, with the same ${variable} as this service:`,
    '  storeroom tenant create acme',
    '  storeroom keys create acme --name shop                    its first API ID and API Secret',
    '  storeroom user create acme you@example.com --role owner   a link to the dashboard',
  ];
}
