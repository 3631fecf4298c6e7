/**
 * Signing in and out, and what users do with their own account: password, second factor, sessions. The rules are those of account/; here a token becomes a
 * cookie and nothing else does. Source: decision 0023.
 */
import { BASE_PATH } from '../operations/operation.ts';
import { objectOf, textOf } from '../schemas.ts';
import { endOfSession } from '../../account/sessions.ts';
import type { SignedIn } from '../../account/port.ts';
import type { FastifyReply } from 'fastify';
import type { DashboardServices } from './services.ts';
import { clearSession, originOf, setSession, tokenOf, type OpenRoute, type Route, type Visit } from './door.ts';
import type {
  DisableSecondFactorRequest,
  EnableSecondFactorRequest,
  EndSessionRequest,
  LinkCheckRequest,
  LinkRequest,
  LinkView,
  PasswordRequest,
  RecoveryCodesView,
  SecondFactorView,
  SessionsView,
  SessionView,
  SignInRequest,
} from './interface.ts';

const text = textOf();
type OpenVisit<Body> = Omit<Visit<Body>, 'signedIn'>;

const viewSession =
  ({ accounts, publicUrl }: DashboardServices) =>
  async (reply: FastifyReply, { user, tenant, session }: SignedIn): Promise<SessionView> => ({
    user: {
      email: user.email,
      role: user.role,
      hasSecondFactor: user.sealedSecret !== null,
      recoveryCodesLeft: await accounts.countRecoveryCodes(user),
      passwordSetAt: user.passwordSetAt,
    },
    tenant: { teamID: tenant.teamId, name: tenant.name },
    endsAt: endOfSession(session),
    baseURL: (publicUrl || originOf(reply.request)) + BASE_PATH,
  });

export function signInRoutes(services: DashboardServices): OpenRoute[] {
  const { accounts } = services;
  const view = viewSession(services);
  return [
    {
      method: 'POST',
      path: '/sign-in',
      body: objectOf({ teamID: text, email: text, password: text, code: text }, ['code']),
      run: async ({ body, nowMs, visitor, reply }: OpenVisit<SignInRequest>) => {
        const { token, signedIn } = await accounts.signIn(body, {
          nowMs,
          ...visitor,
          replaces: tokenOf(reply.request),
        });
        return view(setSession(reply, token), signedIn);
      },
    },
    {
      method: 'POST',
      path: '/link/check',
      body: objectOf({ token: text }),
      run: async ({ body, nowMs }: OpenVisit<LinkCheckRequest>): Promise<LinkView> => {
        const { teamId, email } = await accounts.checkLink(body.token, nowMs);
        return { teamID: teamId, email };
      },
    },
    {
      method: 'POST',
      path: '/link',
      body: objectOf({ token: text, password: text }),
      run: async ({ body, nowMs, visitor, reply }: OpenVisit<LinkRequest>) => {
        const { token, signedIn } = await accounts.useLink(body.token, body.password, { nowMs, ...visitor });
        return view(setSession(reply, token), signedIn);
      },
    },
  ];
}

export const accountRoutes = (services: DashboardServices): Route[] => [
  ...sessionRoutes(services),
  ...credentialRoutes(services),
];

const sessionRoutes = (services: DashboardServices): Route[] => {
  const { accounts } = services;
  const view = viewSession(services);
  return [
    { method: 'GET', path: '/session', role: 'viewer', run: ({ signedIn, reply }: Visit) => view(reply, signedIn) },
    {
      method: 'POST',
      path: '/sign-out',
      role: 'viewer',
      run: async ({ signedIn, nowMs, visitor, reply }: Visit): Promise<void> => {
        await accounts.signOut(signedIn, { nowMs, ...visitor });
        clearSession(reply);
      },
    },
    {
      method: 'GET',
      path: '/sessions',
      role: 'viewer',
      run: async ({ signedIn, nowMs }: Visit): Promise<SessionsView> => ({
        sessions: (await accounts.listSessions(signedIn, nowMs)).map(
          ({ sessionId, createdAt, seenAt, client, agent }) => ({
            sessionId,
            createdAt,
            seenAt,
            client,
            agent,
            isThisOne: sessionId === signedIn.session.sessionId,
          }),
        ),
      }),
    },
    {
      method: 'POST',
      path: '/sessions/end',
      role: 'viewer',
      body: objectOf({ sessionId: textOf('As GET sessions tells it.', { pattern: '^[0-9a-f-]{1,64}$' }) }, [
        'sessionId',
      ]),
      run: ({ signedIn, body, nowMs, visitor }: Visit<EndSessionRequest>) =>
        accounts.endSessions(signedIn, body.sessionId, { nowMs, ...visitor }),
    },
  ];
};

const credentialRoutes = ({ accounts }: DashboardServices): Route[] => [
  {
    method: 'POST',
    path: '/password',
    role: 'viewer',
    body: objectOf({ password: text, newPassword: text }),
    run: async ({ signedIn, body, nowMs, visitor, reply }: Visit<PasswordRequest>): Promise<void> => {
      const { token } = await accounts.changePassword(signedIn, body.password, body.newPassword, { nowMs, ...visitor });
      setSession(reply, token);
    },
  },
  {
    method: 'POST',
    path: '/second-factor/begin',
    role: 'viewer',
    run: async ({ signedIn }: Visit): Promise<SecondFactorView> => accounts.beginSecondFactor(signedIn),
  },
  {
    method: 'POST',
    path: '/second-factor/enable',
    role: 'viewer',
    body: objectOf({ password: text, secret: text, code: text }),
    run: async ({
      signedIn,
      body,
      nowMs,
      visitor,
      reply,
    }: Visit<EnableSecondFactorRequest>): Promise<RecoveryCodesView> => {
      const { token, recoveryCodes } = await accounts.enableSecondFactor(signedIn, body, { nowMs, ...visitor });
      setSession(reply, token);
      return { recoveryCodes };
    },
  },
  {
    method: 'POST',
    path: '/second-factor/disable',
    role: 'viewer',
    body: objectOf({ password: text, code: text }),
    run: async ({ signedIn, body, nowMs, visitor, reply }: Visit<DisableSecondFactorRequest>): Promise<void> => {
      const { token } = await accounts.disableSecondFactor(signedIn, body, { nowMs, ...visitor });
      setSession(reply, token);
    },
  },
];
