/**
 * Signing in and out, and the user's own account: password, second factor, sessions. The rules are those of
 * src/account; a session's token becomes a cookie here. Source: decision 0023.
 */
import type { FastifyReply } from 'fastify';
import type { SignedIn } from '../../account/port.ts';
import { endOfSession } from '../../account/sessions.ts';
import { BASE_PATH } from '../operations/operation.ts';
import { clearSession, setSession, tokenOf } from './admission.ts';
import type { SessionView } from './interface.ts';
import * as schemas from './request-schemas.ts';
import type { DashboardServices } from './services.ts';
import { openRoute, originOf, route, type OpenRoute, type Route } from './typed-route.ts';

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
    openRoute('POST /sign-in', {
      body: schemas.SIGN_IN,
      run: async ({ body, nowMs, visitor, reply }) => {
        const replaces = tokenOf(reply.request);
        const { token, signedIn } = await accounts.signIn(body, { nowMs, ...visitor, replaces });
        return view(setSession(reply, token), signedIn);
      },
    }),
    openRoute('POST /link/check', {
      body: schemas.LINK_TOKEN,
      run: async ({ body, nowMs }) => {
        const { teamId, email } = await accounts.checkLink(body.token, nowMs);
        return { teamID: teamId, email };
      },
    }),
    openRoute('POST /link', {
      body: schemas.LINK_PASSWORD,
      run: async ({ body, nowMs, visitor, reply }) => {
        const { token, signedIn } = await accounts.useLink(body.token, body.password, { nowMs, ...visitor });
        return view(setSession(reply, token), signedIn);
      },
    }),
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
    route('GET /session', { role: 'viewer', run: ({ signedIn, reply }) => view(reply, signedIn) }),
    route('POST /sign-out', {
      role: 'viewer',
      run: async ({ signedIn, nowMs, visitor, reply }) => {
        await accounts.signOut(signedIn, { nowMs, ...visitor });
        clearSession(reply);
      },
    }),
    route('GET /sessions', {
      role: 'viewer',
      run: async ({ signedIn, nowMs }) => ({
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
    }),
    route('POST /sessions/end', {
      role: 'viewer',
      body: schemas.SESSION_END,
      run: ({ signedIn, body, nowMs, visitor }) =>
        accounts.endSessions(signedIn, body.sessionId, { nowMs, ...visitor }),
    }),
  ];
};

const credentialRoutes = ({ accounts }: DashboardServices): Route[] => [
  route('POST /password', {
    role: 'viewer',
    body: schemas.PASSWORD_CHANGE,
    run: async ({ signedIn, body, nowMs, visitor, reply }) => {
      const { token } = await accounts.changePassword(signedIn, body.password, body.newPassword, { nowMs, ...visitor });
      setSession(reply, token);
    },
  }),
  route('POST /second-factor/begin', {
    role: 'viewer',
    run: async ({ signedIn }) => accounts.beginSecondFactor(signedIn),
  }),
  route('POST /second-factor/enable', {
    role: 'viewer',
    body: schemas.SECOND_FACTOR,
    run: async ({ signedIn, body, nowMs, visitor, reply }) => {
      const { token, recoveryCodes } = await accounts.enableSecondFactor(signedIn, body, { nowMs, ...visitor });
      setSession(reply, token);
      return { recoveryCodes };
    },
  }),
  route('POST /second-factor/disable', {
    role: 'viewer',
    body: schemas.SECOND_FACTOR_PROOF,
    run: async ({ signedIn, body, nowMs, visitor, reply }) => {
      const { token } = await accounts.disableSecondFactor(signedIn, body, { nowMs, ...visitor });
      setSession(reply, token);
    },
  }),
];
