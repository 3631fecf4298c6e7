/**
 * Loads the session of the user once, passes it to the pages, and opens the sign-in page if there is none. It decides
 * only what is shown; the service decides what a role may do.
 */
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { mayAct, type Role } from '../../../src/account/roles.ts';
import type { SessionView } from '../../../src/http/dashboard/interface.ts';
import { get, onNotSignedIn, post, SIGNED_IN, toAddress, type ApiError } from './client.ts';
import { toApiError } from './use-load.ts';
import { navigate } from '../browser/router.tsx';

interface SessionState {
  readonly session: SessionView | undefined;
  readonly error: ApiError | undefined;
  readonly load: () => Promise<void>;
  /** Whether the session has ended since it was loaded. The page stays until the user signs in again or leaves. */
  readonly hasEnded: boolean;
  /** Starts with the session that signing in returned. */
  readonly begin: (session: SessionView) => void;
}
const SessionContext = createContext<SessionState | null>(null);

export const HOME = '/home';

/** Returns the path to open after sign-in. Any address other than a path inside the shell becomes HOME. */
export const parseReturnPath = (query: URLSearchParams): string => {
  const path = query.get('next') ?? '';
  return /^\/(?!\/|sign-in|link)/.test(path) ? path : HOME;
};

/** Opens the sign-in page, which returns to the current page. */
export function leaveForSignIn(): void {
  const here = location.pathname.replace(/^\/dashboard/, '') + location.search;
  if (/^\/(sign-in|link)\b/.test(here)) return;
  navigate(`/sign-in?${new URLSearchParams({ next: here }).toString()}`, { replace: true });
}

export function SessionProvider({ children }: { children: ComponentChildren }) {
  const [session, setSession] = useState<SessionView>();
  const [error, setError] = useState<ApiError>();
  const [hasEnded, setEnded] = useState(false);
  useEffect(() => onNotSignedIn(() => (session === undefined ? leaveForSignIn() : setEnded(true))), [session]);
  const begin = (begun: SessionView) => {
    setSession(begun);
    setEnded(false);
    dispatchEvent(new Event(SIGNED_IN));
  };
  const load = async () => {
    setError(undefined);
    try {
      setSession(await get('/session'));
    } catch (fault) {
      const found = toApiError(fault);
      if (found.code !== 'NOT_SIGNED_IN') setError(found);
    }
  };
  return (
    <SessionContext.Provider value={{ session, error, hasEnded, load, begin }}>{children}</SessionContext.Provider>
  );
}

export function useSessionState(): SessionState {
  const state = useContext(SessionContext);
  if (state === null) throw new Error('useSessionState needs a <SessionProvider> around it.');
  return state;
}

/** Example: `const { user, tenant, baseURL, may } = useSession()`. Only for pages inside the shell. */
export function useSession() {
  const { session, load } = useSessionState();
  if (session === undefined) throw new Error('useSession is for pages inside the shell.');
  return {
    ...session,
    baseURL: toAddress(session.baseURL),
    /** Loads the session again after it has changed, for example the user's role or the tenant's name. */
    reload: load,
    /** Returns whether the user has at least this role: `may('developer')`. */
    may: (needed: Role) => mayAct(session.user.role, needed),
  };
}
export type UserSession = ReturnType<typeof useSession>;

/** Ends the session and loads the sign-in page from the service, so that no data of the session stays in memory. */
export async function signOut(): Promise<void> {
  await post('/sign-out', {});
  location.assign('/dashboard/sign-in');
}
