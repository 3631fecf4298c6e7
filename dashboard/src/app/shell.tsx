/**
 * The frame of every page: navigation by role, trail, tenant and user. On a phone the navigation is behind a menu
 * button.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Role } from '../../../src/account/roles.ts';
import { Link, useLocation, type Crumb } from '../router.tsx';
import { signOut, useSession } from '../session.tsx';
import { useTheme, type Theme } from './theme.ts';
import { Badge } from '../ui/badge.tsx';
import { IconButton } from '../ui/button.tsx';
import { Copy } from '../ui/text/copy.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { toast } from '../ui/toaster.tsx';

/** Version of the service, set by the build. */
declare const VERSION: string;

interface Item {
  readonly label: string;
  readonly to: string;
  readonly icon: IconName;
  readonly needs?: Role;
}
const SECTIONS: readonly { readonly title: string; readonly items: readonly Item[] }[] = [
  {
    title: 'Records',
    items: [
      { label: 'Orders', to: '/records/orders', icon: 'orders' },
      { label: 'Customers', to: '/records/customers', icon: 'customers' },
      { label: 'Inventory', to: '/records/inventory', icon: 'inventory' },
    ],
  },
  {
    title: 'Developer Settings',
    items: [
      { label: 'API Settings', to: '/api-settings', icon: 'keys' },
      { label: 'Requests', to: '/requests', icon: 'requests' },
      { label: 'Usage', to: '/usage', icon: 'usage' },
      { label: 'API explorer', to: '/explorer', icon: 'explorer' },
      { label: 'Fields', to: '/fields', icon: 'fields' },
    ],
  },
  {
    title: 'Team',
    items: [
      { label: 'Settings', to: '/settings', icon: 'settings' },
      { label: 'Users', to: '/users', icon: 'users', needs: 'owner' },
      { label: 'Audit log', to: '/audit', icon: 'audit', needs: 'owner' },
    ],
  },
];

export function Shell({ crumbs, children }: { crumbs: readonly Crumb[]; children: ComponentChildren }) {
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
    addEventListener('keydown', closeOnEscape);
    return () => removeEventListener('keydown', closeOnEscape);
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
        <Breadcrumb crumbs={crumbs} />
        {children}
      </main>
    </div>
  );
}

function Sidebar() {
  const { user, tenant, may } = useSession();
  const { path } = useLocation();
  const leave = () => signOut().catch(() => toast('Signing out did not work; try again.', 'bad'));
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
      <nav aria-label="Dashboard">
        {SECTIONS.map(({ title, items }) => (
          <div key={title} class="nav-section">
            <h2 class="nav-title">{title}</h2>
            <ul>
              {items
                .filter(({ needs }) => needs === undefined || may(needs))
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
        <p class="foot-version">Storeroom {VERSION}</p>
      </div>
    </aside>
  );
}

function NavItem({ item, path }: { item: Item; path: string }) {
  const isHere = path === item.to || path.startsWith(`${item.to}/`);
  return (
    <li>
      <Link to={item.to} class="nav-item" aria-current={path === item.to ? 'page' : isHere ? 'true' : undefined}>
        <Icon name={item.icon} />
        {item.label}
      </Link>
    </li>
  );
}

const THEMES: readonly [Theme, string][] = [
  ['system', 'Colours of the system'],
  ['light', 'Light colours'],
  ['dark', 'Dark colours'],
];

function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  return (
    <div class="theme-choice" role="group" aria-label="Colours">
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

function Breadcrumb({ crumbs }: { crumbs: readonly Crumb[] }) {
  if (crumbs.length < 2) return null;
  return (
    <nav class="breadcrumb" aria-label="Trail">
      <ol>
        {crumbs.map(({ label, to }, index) => (
          <li key={`${index} ${label}`}>
            {to === undefined ? (
              <span aria-current={index === crumbs.length - 1 ? 'page' : undefined}>{label}</span>
            ) : (
              <Link to={to}>{label}</Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
