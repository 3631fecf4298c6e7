/**
 * The frame of every page: navigation by role, trail, tenant and user. On a phone the navigation is behind a menu
 * button.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, useLocation, useMatch } from '../browser/router.tsx';
import { signOut, useSession } from '../api/session.tsx';
import { Find } from './find-dialog.tsx';
import { QuotaBanner } from './quota-banner.tsx';
import { isWithin, SECTIONS, type MenuItem } from './navigation.ts';
import { useTheme, type Theme } from './theme.ts';
import { Badge } from '../ui/text/text.tsx';
import { IconButton } from '../ui/button.tsx';
import { Copy } from '../ui/text/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { toast } from '../ui/toaster.tsx';

/** Version of the service, set by the build. */
declare const VERSION: string;

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { tenant } = useSession();
  const [isOpen, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOnEscape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      toggle.current?.focus();
    };
    const closing = new AbortController();
    addEventListener('keydown', closeOnEscape, closing);
    matchMedia('(width > 800px)').addEventListener('change', () => setOpen(false), closing);
    return () => closing.abort();
  }, [isOpen]);
  return (
    <div class={isOpen ? 'shell menu-open' : 'shell'}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="topbar">
        <button
          ref={toggle}
          type="button"
          class="button quiet only-icon"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'close' : 'menu'} />
          <span class="hidden">Menu</span>
        </button>
        <span class="topbar-name">{tenant.name}</span>
      </header>
      <Sidebar />
      <main id="content" class="content" tabIndex={-1} inert={isOpen}>
        <Breadcrumb />
        <QuotaBanner />
        {children}
      </main>
    </div>
  );
}

function Sidebar() {
  const { user, tenant, may, isOperator } = useSession();
  const { path } = useLocation();
  const leave = () => signOut().catch(() => toast('You could not be signed out. Try again.', 'bad'));
  return (
    <aside class="sidebar" id="navigation" aria-label="Menu">
      <div class="tenant">
        <span class="mark" aria-hidden="true">
          {tenant.name.slice(0, 1).toUpperCase()}
        </span>
        <div>
          <p class="tenant-name" title={tenant.name}>
            {tenant.name}
          </p>
          <p class="tenant-team">
            <span class="mono">{tenant.teamID}</span>
            <Copy text={tenant.teamID} label="Copy team ID" />
          </p>
        </div>
      </div>
      <Find />
      <nav aria-label="Dashboard">
        {SECTIONS.map(({ title, items }) => (
          <div key={title} class="nav-section">
            {title !== '' && <h2 class="nav-title">{title}</h2>}
            <ul>
              {items
                .filter(({ needs }) => needs === undefined || (needs === 'operator' ? isOperator : may(needs)))
                .map((item) => (
                  <NavItem key={item.to} item={item} path={path} />
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="sidebar-foot">
        <Link to="/account" class="user" aria-current={path === '/account' ? 'page' : undefined}>
          <span class="user-email" title={user.email}>
            {user.email}
          </span>
          <Badge>{user.role}</Badge>
          <span class="hidden">Account</span>
        </Link>
        <div class="foot-row">
          <ThemeChoice />
          <IconButton size="small" icon="signOut" label="Sign out" onClick={() => void leave()} />
        </div>
        <p class="foot-version">
          Storeroom {VERSION} · <a href="/docs">Guides</a> · <a href="/docs/reference">Reference</a>
        </p>
      </div>
    </aside>
  );
}

function NavItem({ item, path }: { item: MenuItem; path: string }) {
  const current = path === item.to ? 'page' : isWithin(path, item) ? 'true' : undefined;
  return (
    <li>
      <Link to={item.to} class="nav-item" aria-current={current}>
        <Icon name={item.icon} />
        {item.label}
      </Link>
    </li>
  );
}

const THEMES: readonly [Theme, string][] = [
  ['system', 'System theme'],
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
];

function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  return (
    <div class="theme-choice" role="group" aria-label="Theme">
      {THEMES.map(([name, label]) => (
        <IconButton
          key={name}
          size="small"
          icon={name}
          label={label}
          aria-pressed={theme === name}
          onClick={() => setTheme(name)}
        />
      ))}
    </div>
  );
}

/** The section, the page of the menu, and the record in the address. */
function Breadcrumb() {
  const { path } = useLocation();
  const matched = useMatch();
  const section = SECTIONS.find(({ items }) => items.some((item) => isWithin(path, item)));
  const item = section?.items.find((one) => isWithin(path, one));
  const [name] = Object.entries(matched?.params ?? {}).flatMap(([key, value]) => (key === 'kind' ? [] : [value]));
  // A page of the menu needs no trail, because its title is its name.
  if (section === undefined || item === undefined || path === item.to) return null;
  return (
    <nav class="breadcrumb" aria-label="Breadcrumb">
      <ol>
        <li>{section.title}</li>
        <li>
          <Link to={item.to}>{item.label}</Link>
        </li>
        {name && (
          <li>
            <span aria-current="page">{name}</span>
          </li>
        )}
      </ol>
    </nav>
  );
}
