/**
 * Checks requests to the dashboard: each must be from the dashboard's own pages, have a session, and its user must have
 * the required role. Source: decision 0023.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../../account/accounts.ts';
import type { SignedIn } from '../../account/account-port.ts';
import { mayAct, type Role } from '../../account/roles.ts';
import { Refusal } from '../../errors.ts';

/** With this prefix, a browser accepts the cookie only over TLS or from its own machine, and only for this host. */
const COOKIE = '__Host-storeroom_session';
const COOKIE_RULES = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const;

/** Refuses requests from other sites, by Fetch Metadata, or by RFC 9110 Origin where the browser sends no metadata. */
export function refuseCrossSite({ headers }: FastifyRequest): void {
  const { 'sec-fetch-site': site, origin = '', host } = headers;
  const from = URL.parse(origin);
  const isOwn = site === undefined ? from !== null && from.host === host : site === 'same-origin';
  if (!isOwn) throw new Refusal('CROSS_SITE');
}

/** Returns the session of the request's cookie, which it loads once per request. Throws CROSS_SITE or NOT_SIGNED_IN. */
export async function findSession(accounts: Accounts, request: FastifyRequest, nowMs: number): Promise<SignedIn> {
  if (request.signedIn) return request.signedIn;
  refuseCrossSite(request);
  const token = tokenOf(request);
  const signedIn = token === undefined ? undefined : await accounts.findSession(token, nowMs);
  if (!signedIn) throw new Refusal('NOT_SIGNED_IN');
  request.signedIn = signedIn;
  request.tenant = signedIn.tenant;
  return signedIn;
}

export function requireRole({ user }: SignedIn, needed: Role): void {
  if (!mayAct(user.role, needed))
    throw new Refusal('ROLE_NOT_ALLOWED', `This needs the role ${needed}; yours is ${user.role}.`);
}

export const tokenOf = (request: FastifyRequest): string | undefined => request.cookies[COOKIE];
export const setSession = (reply: FastifyReply, token: string): FastifyReply =>
  reply.setCookie(COOKIE, token, COOKIE_RULES);
export const clearSession = (reply: FastifyReply): FastifyReply =>
  reply.clearCookie(COOKIE, COOKIE_RULES).header('clear-site-data', '"cache", "storage"');
