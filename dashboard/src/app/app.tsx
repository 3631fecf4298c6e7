/**
 * The complete dashboard: finds the page for the address, fetches its code and shows it in the shell, or alone if it is
 * public.
 */
import type { ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { loadNotFound, PUBLIC, ROUTES } from './routes.ts';
import { navigate, Router, takeHeadingFocus, useLocation, useMatch, type LoadPage } from '../browser/router.tsx';
import { HOME, SessionProvider, useSessionState } from '../api/session.tsx';
import { ProofDialog, SessionEnd } from './session-dialogs.tsx';
import { Shell } from './shell.tsx';
import { Button } from '../ui/button.tsx';
import { OpenedDialog } from '../ui/dialog/dialog.tsx';
import { Notice, PageSkeleton, ReloadNotice } from '../ui/page.tsx';
import { Toaster } from '../ui/toaster.tsx';

export function App() {
  return (
    <Router routes={ROUTES}>
      <SessionProvider>
        <Screen />
        <Toaster />
      </SessionProvider>
    </Router>
  );
}

function Screen() {
  const { path } = useLocation();
  const matched = useMatch();
  const isHome = path === '/' || path === '';
  useEffect(() => {
    if (!isHome) return;
    navigate(HOME, { replace: true });
    takeHeadingFocus(); // The user has just opened the dashboard, so the first Tab must reach the skip link.
  }, [isHome]);
  if (isHome) return null;
  // A different path is a different page, even with the same component, so no state is kept.
  const page = <LazyPage key={path} load={matched?.load ?? loadNotFound} />;
  if (PUBLIC.includes(matched?.pattern ?? '')) return <main class="public">{page}</main>;
  return <SignedIn>{page}</SignedIn>;
}

function SignedIn({ children }: Parameters<typeof Shell>[0]) {
  const { session, error, load } = useSessionState();
  useEffect(() => {
    if (session === undefined) void load();
  }, []);
  if (session !== undefined)
    return (
      <>
        <Shell>{children}</Shell>
        <ProofDialog />
        <SessionEnd />
      </>
    );
  if (error === undefined) return null;
  return (
    <main class="public">
      <Notice
        tone="bad"
        title="The dashboard could not be loaded"
        actions={<Button onClick={() => void load()}>Try again</Button>}
      >
        {error.message}
      </Notice>
    </main>
  );
}

const known = new Map<LoadPage, ComponentType>();

function LazyPage({ load }: { load: LoadPage }) {
  const [, show] = useState(0);
  const [fault, setFault] = useState<unknown>();
  const [broken] = useErrorBoundary();
  const Page = known.get(load);
  useEffect(() => {
    let isWanted = true;
    if (Page === undefined)
      load().then(
        (module) => {
          known.set(load, module.default);
          if (isWanted) show(1);
          return undefined;
        },
        (reason: unknown) => isWanted && setFault(reason),
      );
    return () => {
      isWanted = false;
    };
  }, []);
  if (fault !== undefined || broken !== undefined)
    return (
      <ReloadNotice title="This page could not be shown">
        {fault === undefined ? 'An unexpected error occurred. Reload the page.' : undefined}
      </ReloadNotice>
    );
  if (Page === undefined) return <PageSkeleton />;
  return (
    <>
      <Page />
      <OpenedDialog />
    </>
  );
}
