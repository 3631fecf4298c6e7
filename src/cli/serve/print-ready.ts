/** What `serve` prints when it listens: addresses, and how to try the demo tenant or make the first one. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { VERSION } from '../../assets.ts';
import { SETTINGS, type Config } from '../../config.ts';
import { BASE_PATH } from '../../http/operations/operation.ts';
import { DEMO_OWNER, DEMO_TEAM, type Demo } from './demo-tenant.ts';
import { describeStore } from '../open-store.ts';
import { findOrigin, formatLink, formatOrigin } from '../service-address.ts';

export function printReady(
  app: FastifyInstance,
  config: Config,
  { demo, isEmpty, asJson }: { demo: Demo | undefined; isEmpty: boolean; asJson: boolean },
): void {
  const { port } = app.server.address() as AddressInfo;
  const origin = formatOrigin(config.host, port);
  const baseURL = origin + BASE_PATH;
  const dashboard = `${findOrigin(config, port)}/dashboard/`;
  const reference = `${origin}/docs`;
  const store = describeStore(config);
  const tenant = demo && {
    teamID: DEMO_TEAM,
    apiID: demo.key.apiId,
    apiSecret: demo.key.apiSecret,
    owner: DEMO_OWNER,
    ownerLink: formatLink(findOrigin(config, port), demo.linkToken),
  };
  const call = (path: string): string => `  curl -u '${tenant?.apiID}:${tenant?.apiSecret}' '${baseURL}${path}'`;
  const addresses = [
    `  Base URL    ${baseURL}`,
    `  Dashboard   ${dashboard}`,
    `  Reference   ${reference}`,
    `  Store       ${store}`,
  ];
  const lines = [`Storeroom ${VERSION} is ready.`, ...addresses];
  if (tenant)
    lines.push(
      `  Team ID     ${DEMO_TEAM}`,
      `  API ID      ${tenant.apiID}`,
      `  API Secret  ${tenant.apiSecret}   (shown this once)`,
      `  Owner       ${DEMO_OWNER}: set a password at ${tenant.ownerLink}   (works once)`,
      '',
      'Try an order with its lines, and everything about storefront number #1001:',
      call(`/orders/single?teamID=${DEMO_TEAM}&orderNum=10248`),
      call(`/orders/by_storefront_reference?teamID=${DEMO_TEAM}&storefront_order_number=%231001`),
    );
  if (isEmpty) lines.push('', ...listFirstSteps(config));
  const json = JSON.stringify({ version: VERSION, baseURL, dashboard, reference, store, demo: tenant });
  process.stdout.write(asJson ? `${json}\n` : `${lines.join('\n')}\n\n`);
}

function listFirstSteps({ databaseUrl }: Config): string[] {
  const [variable, why] =
    databaseUrl === ''
      ? [SETTINGS.data.variable, '']
      : [SETTINGS.databaseUrl.variable, ' The demo tenant is made in the embedded store alone.'];
  return [
    `There is no tenant yet.${why} Make the first, with the ${variable} of this service:`,
    '  storeroom tenant create acme',
    '  storeroom keys create acme --name shop                    its first API ID and API Secret',
    '  storeroom user create acme you@example.com --role owner   a link into the dashboard',
  ];
}
