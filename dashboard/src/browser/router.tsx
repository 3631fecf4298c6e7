/**
 * Finds the page for an address and navigates between pages: patterns, links, and filters in the query string. Paths
 * are below /dashboard. Begin here.
 */
import { createContext, type ComponentChildren, type ComponentType, type TargetedMouseEvent } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

const BASE = '/dashboard';

/** The decoded parts of a path by their names in the pattern. */
type Params = Readonly<Record<string, string>>;
/** Fetches the code of a page, whose default export is its component. */
export type LoadPage = () => Promise<{ readonly default: ComponentType }>;
/** Pages by pattern, such as `/records/:kind/:key`. The first matching pattern counts. */
export type PageRoutes = Readonly<Record<string, LoadPage>>;

const CHANGED = 'storeroom:navigate';
let isHeadingWanted = false;
let isBack = false;
/** Returns whether Back or Forward opened the page. */
export const isReturning = (): boolean => isBack;

const parseLocation = () => ({
  /** The path below /dashboard: `/records/orders/10248`. */
  path: location.pathname.slice(BASE.length) || '/',
  query: new URLSearchParams(location.search),
});

/**
 * Goes to a path below /dashboard: `navigate('/records/orders?status=OPEN')`. With `replace`, Back does not return to
 * this page.
 */
export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const before = location.pathname;
  isBack = false;
  history[replace ? 'replaceState' : 'pushState'](null, '', BASE + to);
  if (location.pathname !== before) {
    isHeadingWanted = true;
    scrollTo(0, 0);
  }
  dispatchEvent(new Event(CHANGED));
}

let held: { readonly address: string; readonly ask: (to: string) => void } | undefined;

/**
 * Stops links and Back on this page, and passes their targets to `ask`, until the returned function is called.
 * `navigate` still leaves the page.
 */
export function holdPage(ask: (to: string) => void): () => void {
  held = { address: location.pathname + location.search, ask };
  return () => (held = undefined);
}

/** Returns true once after the user navigated to the page that appears now, so that its heading gets the focus. */
export function takeHeadingFocus(): boolean {
  const wanted = isHeadingWanted;
  isHeadingWanted = false;
  return wanted;
}

/** Fills a pattern: `pathOf('/records/:kind/:key', { kind: 'orders', key: 'A/1 #2' })` encodes the values. */
export const pathOf = (pattern: string, params: Params): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));

function matchRoute(routes: PageRoutes, path: string) {
  const parts = path.replace(/(?<=.)\/$/, '').split('/');
  for (const [pattern, load] of Object.entries(routes)) {
    const params = matchPattern(pattern.split('/'), parts);
    if (params !== undefined) return { pattern, load, params };
  }
  return undefined;
}

function matchPattern(pattern: string[], parts: string[]): Params | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index]!;
    if (!wanted.startsWith(':')) {
      if (wanted !== part) return undefined;
      continue;
    }
    try {
      params[wanted.slice(1)] = decodeURIComponent(part);
    } catch {
      return undefined; // None of our paths contains an unencoded %.
    }
  }
  return params;
}

interface RouterState {
  readonly location: ReturnType<typeof parseLocation>;
  readonly routes: PageRoutes;
  readonly matched: ReturnType<typeof matchRoute>;
}
const RouterContext = createContext<RouterState | null>(null);

export function Router({ routes, children }: { routes: PageRoutes; children: ComponentChildren }) {
  const [here, setHere] = useState(parseLocation);
  useEffect(() => {
    const update = () => setHere(parseLocation());
    const goBack = () => {
      if (held !== undefined && location.pathname + location.search !== held.address) {
        const to = location.pathname.slice(BASE.length) + location.search;
        history.pushState(null, '', held.address); // Back has already left the page and cannot be prevented.
        held.ask(to);
        return;
      }
      isBack = true;
      setHere((before) => {
        const next = parseLocation();
        if (next.path !== before.path) isHeadingWanted = true; // A skip link changes only the part after the #.
        return next;
      });
    };
    addEventListener(CHANGED, update);
    addEventListener('popstate', goBack);
    update(); // A page may have navigated before this component listened.
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener('popstate', goBack);
    };
  }, []);
  return (
    <RouterContext.Provider value={{ location: here, routes, matched: matchRoute(routes, here.path) }}>
      {children}
    </RouterContext.Provider>
  );
}

function useRouter(): RouterState {
  const state = useContext(RouterContext);
  if (state === null) throw new Error('useRouter needs a <Router> around it.');
  return state;
}

export const useLocation = () => useRouter().location;
export const useMatch = () => useRouter().matched;
/** Example: `const { kind = 'orders', key } = useParams()`. */
export const useParams = (): Params => useRouter().matched?.params ?? {};

/** A change of the query string: '', null and undefined remove the name, a list repeats it. */
export type QueryChange = Readonly<Record<string, string | readonly string[] | null | undefined>>;

/**
 * Keeps filters in the address, so that they survive reloading and Back: `const [query, setQuery] = useQuery()`,
 * `query.get('status') ?? ''`, `setQuery({ status: '4xx', cursor: null })`. `{ replace: true }` is for typing.
 */
export function useQuery() {
  const { query } = useLocation();
  const setQuery = (change: QueryChange, options?: { replace?: boolean }) => {
    const { path, query: next } = parseLocation();
    for (const [name, value] of Object.entries(change)) {
      next.delete(name);
      for (const one of [value].flat()) if (one) next.append(name, one);
    }
    const search = next.toString();
    navigate(search === '' ? path : `${path}?${search}`, options);
  };
  return [query, setQuery] as const;
}

interface LinkProps {
  /** Path below /dashboard. */
  to: string;
  class?: string;
  title?: string;
  'aria-label'?: string;
  'aria-current'?: 'page' | 'true' | undefined;
  tabIndex?: number;
  onClick?: ((event: TargetedMouseEvent<HTMLAnchorElement>) => void) | undefined;
  children: ComponentChildren;
}

/**
 * A link within the dashboard; fetches the page's code when the pointer or the focus reaches it. Example: `<Link
 * to={pathOf('/records/:kind/:key', { kind, key })}>…</Link>`.
 */
export function Link({ to, children, onClick, ...rest }: LinkProps) {
  const { routes } = useRouter();
  const prefetch = () =>
    void matchRoute(routes, to.replace(/[?#].*/, ''))
      ?.load()
      .catch(() => {});
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    if (held === undefined || held.address === BASE + to) navigate(to);
    else held.ask(to);
  };
  return (
    <a {...rest} href={BASE + to} onClick={follow} onPointerEnter={prefetch} onFocus={prefetch}>
      {children}
    </a>
  );
}
