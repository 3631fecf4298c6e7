/**
 * Signing in and out, and the user's own account: password, two-step verification, sessions. The rules are in
 * src/account; these routes put a session's token into a cookie. Source: decision 0023.
 */
import type { SignedIn } from '../../account/account-port.ts';
import {
  beginSecondFactor,
  changePassword,
  checkLink,
  confirmPassword,
  disableSecondFactor,
  enableSecondFactor,
  endOwnSessions,
  listLive,
  signIn,
  signOut,
  useLink,
  type OpenedSession,
} from '../../account/accounts.ts';
import { endOfSession } from '../../account/users.ts';
import { pick } from '../../administration/action.ts';
import { isOperator } from '../../administration/operate.ts';
import { formatTime } from '../../clock.ts';
import { matching, objectOf, textOf, type TypedSchema } from '../../json-schema.ts';
import { quotaOf } from '../../tenant/calls.ts';
import { BASE_PATH } from '../server/protocol.ts';
import {
  clearSession,
  declareOpenRoute,
  declareOwnRoute,
  setSession,
  tokenOf,
  type OpenContext,
  type RequestContext,
} from './typed-route.ts';

async function viewSession(services: OpenContext, signedIn: SignedIn) {
  const { users, publicUrl, meter, clock } = services;
  const { user, tenant, session } = signedIn;
  return {
    user: {
      ...pick(user, 'email', 'role', 'passwordSetAt'),
      hasSecondFactor: user.sealedSecret !== null,
      recoveryCodesLeft: await users.countRecoveryCodes(user),
    },
    tenant: { teamID: tenant.teamId, name: tenant.name },
    /** The calls of this month (UTC), and the limit, or null for no limit. */
    monthCalls: await meter.monthTotal(tenant.teamId, formatTime(clock.now())),
    monthQuota: quotaOf(tenant),
    /** The latest end of the session, UTC ISO 8601. */
    endsAt: endOfSession(session),
    /** The address of the API: `https://host/tenant/api/pims/v1`; without the host if no public address is set. */
    baseURL: publicUrl + BASE_PATH,
    isOperator: await isOperator(services, services.operatorTeam, signedIn),
  };
}

function openSession(context: OpenContext, { token, signedIn }: OpenedSession) {
  setSession(context.reply, token);
  return viewSession(context, signedIn);
}

const any = textOf();

/** Defines a route with a proof of identity, which puts the session's new token into the cookie. */
const declareProof = <Given, Opened extends OpenedSession>(
  takes: TypedSchema<Given>,
  prove: (context: RequestContext, given: Given) => Promise<Opened>,
) =>
  declareOwnRoute({
    proof: 'sent',
    takes,
    run: async (context, given) => {
      const { token, signedIn: _, ...more } = await prove(context, given);
      setSession(context.reply, token);
      return more;
    },
  });

/** Every route with a role can also refuse with 401 NOT_SIGNED_IN, 403 ROLE_NOT_ALLOWED and 403 PROOF_NEEDED. */
export const ACCOUNT_ROUTES = {
  /** `code` is six digits or a recovery code. SIGN_IN_REFUSED, TOO_MANY_ATTEMPTS; SECOND_FACTOR_NEEDED: send a code. */
  'POST /sign-in': declareOpenRoute({
    takes: objectOf({ teamID: any, email: any, password: any }, { code: any }),
    run: async (context, given) => openSession(context, await signIn(context, given, tokenOf(context.reply.request))),
  }),
  /** Returns the user of a one-time link. LINK_INVALID. */
  'POST /link/check': declareOpenRoute({ takes: objectOf({ token: any }), run: checkLink }),
  /** Sets the password and signs in. LINK_INVALID, WEAK_PASSWORD. */
  'POST /link': declareOpenRoute({
    takes: objectOf({ token: any, password: any }),
    run: async (context, given) => openSession(context, await useLink(context, given)),
  }),
  /** Proves the user's identity for five minutes. SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED, TOO_MANY_ATTEMPTS. */
  'POST /confirm': declareProof(objectOf({ password: any }, { code: any }), confirmPassword),
  'POST /sign-out': declareOwnRoute({
    proof: 'none',
    run: async (context) => {
      await signOut(context);
      clearSession(context.reply);
    },
  }),
  'GET /session': declareOwnRoute({ run: (context) => viewSession(context, context.signedIn) }),
  'GET /sessions': declareOwnRoute({
    run: async (context) => ({
      sessions: (await listLive(context)).map((session) => ({
        ...pick(session, 'sessionId', 'createdAt', 'seenAt', 'client', 'agent'),
        isThisOne: session.sessionId === context.signedIn.session.sessionId,
      })),
    }),
  }),
  /** Ends one session, or all other sessions of the user if no sessionId is sent. */
  'POST /sessions/end': declareOwnRoute({
    proof: 'none',
    takes: objectOf({}, { sessionId: matching('^[0-9a-f-]{1,64}$') }),
    run: endOwnSessions,
  }),
  /** Changes the password and ends all other sessions. SIGN_IN_REFUSED, WEAK_PASSWORD. */
  'POST /password': declareProof(objectOf({ password: any, newPassword: any }), changePassword),
  /** Returns a new secret, which the next route enables: in base32 for typing in, and as otpauth://… for a QR code. */
  'POST /second-factor/begin': declareOwnRoute({ proof: 'none', run: beginSecondFactor }),
  /**
   * Enables two-step verification, or replaces it with a `presentCode`. The codes are shown only once. SIGN_IN_REFUSED,
   * SECOND_FACTOR_NEEDED.
   */
  'POST /second-factor/enable': declareProof(
    objectOf({ password: any, secret: any, code: any }, { presentCode: any }),
    enableSecondFactor,
  ),
  'POST /second-factor/disable': declareProof(objectOf({ password: any, code: any }), disableSecondFactor),
};
