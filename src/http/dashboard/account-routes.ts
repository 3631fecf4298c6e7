/**
 * Signing in and out, and the user's own account: password, two-step verification, sessions. The rules are in
 * src/account; these routes put a session's token into a cookie. Source: decision 0023.
 */
import type { SignedIn } from '../../account/account-port.ts';
import { endOfSession } from '../../account/users.ts';
import { formatTime } from '../../clock.ts';
import { quotaOf } from '../../tenant/calls.ts';
import { BASE_PATH } from '../server/protocol.ts';
import { isOperator } from './usage-routes.ts';
import { clearSession, setSession, tokenOf, pick, type Handlers, type DashboardServices } from './typed-route.ts';
import type { SessionView } from './interface.ts';

const viewSession =
  (services: DashboardServices) =>
  async (signedIn: SignedIn): Promise<SessionView> => {
    const { accounts, publicUrl, meter, clock } = services;
    const { user, tenant, session } = signedIn;
    return {
      user: {
        ...pick(user, 'email', 'role'),
        hasSecondFactor: user.sealedSecret !== null,
        recoveryCodesLeft: await accounts.countRecoveryCodes(user),
        passwordSetAt: user.passwordSetAt,
      },
      tenant: { teamID: tenant.teamId, name: tenant.name },
      monthCalls: await meter.monthTotal(tenant.teamId, formatTime(clock.now())),
      monthQuota: quotaOf(tenant),
      endsAt: endOfSession(session),
      baseURL: publicUrl + BASE_PATH,
      isOperator: await isOperator(services, signedIn),
    };
  };

export function accountRoutes(services: DashboardServices) {
  const { accounts } = services;
  const view = viewSession(services);
  return {
    'POST /sign-in': async ({ body, client, reply }) => {
      const { token, signedIn } = await accounts.signIn(body, { ...client, replaces: tokenOf(reply.request) });
      setSession(reply, token);
      return view(signedIn);
    },
    'POST /link/check': async ({ body, client }) => {
      const { teamId, email } = await accounts.checkLink(body.token, client);
      return { teamID: teamId, email };
    },
    'POST /link': async ({ body, client, reply }) => {
      const { token, signedIn } = await accounts.useLink(body.token, body.password, client);
      setSession(reply, token);
      return view(signedIn);
    },

    'GET /session': ({ signedIn }) => view(signedIn),
    'POST /confirm': async ({ signedIn, body, client, reply }) => {
      const { token } = await accounts.confirm(signedIn, body.password, client, body.code);
      setSession(reply, token);
    },
    'POST /sign-out': async ({ signedIn, client, reply }) => {
      await accounts.signOut(signedIn, client);
      clearSession(reply);
    },
    'GET /sessions': async ({ signedIn, client }) => ({
      sessions: (await accounts.listSessions(signedIn, client.nowMs)).map((session) => ({
        ...pick(session, 'sessionId', 'createdAt', 'seenAt', 'client', 'agent'),
        isThisOne: session.sessionId === signedIn.session.sessionId,
      })),
    }),
    'POST /sessions/end': ({ signedIn, body, client }) => accounts.endSessions(signedIn, body.sessionId, client),

    'POST /password': async ({ signedIn, body, client, reply }) => {
      const { token } = await accounts.changePassword(signedIn, body.password, body.newPassword, client);
      setSession(reply, token);
    },
    'POST /second-factor/begin': async ({ signedIn }) => accounts.beginSecondFactor(signedIn),
    'POST /second-factor/enable': async ({ signedIn, body, client, reply }) => {
      const { token, recoveryCodes } = await accounts.enableSecondFactor(signedIn, body, client);
      setSession(reply, token);
      return { recoveryCodes };
    },
    'POST /second-factor/disable': async ({ signedIn, body, client, reply }) => {
      const { token } = await accounts.disableSecondFactor(signedIn, body, client);
      setSession(reply, token);
    },
  } satisfies Partial<Handlers>;
}
