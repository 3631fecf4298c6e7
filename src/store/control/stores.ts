/** The stores of people, keys, calls and webhooks, which an open store of either kind has besides those of records. */
import { makeAuditStore } from './audit.ts';
import { makeRequestStore, makeUsageStore, type OwnRequests, type OwnUsage } from './calls.ts';
import { loadCursorKey, makeInstallation, type ControlDatabase } from './control.ts';
import { makeTenantStore, type OwnTenants } from './tenants.ts';
import { makeSessionStore, makeUserStore } from './users.ts';
import { makeWebhookStore } from './webhooks.ts';

export type ControlStores = ReturnType<typeof makeControlStores>;

/** `tenants`, `usage` and `requests` have what each kind of store does in its own way. */
export const makeControlStores = (
  control: ControlDatabase,
  tenants: OwnTenants,
  usage: OwnUsage,
  requests: OwnRequests,
) => ({
  tenants: makeTenantStore(control, tenants),
  usage: makeUsageStore(usage),
  requests: makeRequestStore(requests),
  users: makeUserStore(control),
  sessions: makeSessionStore(control),
  audit: makeAuditStore(control),
  webhooks: makeWebhookStore(control),
  installation: makeInstallation(control),
  /** Loads the random bytes with which the installation signs cursors. */
  loadCursorKey: () => loadCursorKey(control),
});
