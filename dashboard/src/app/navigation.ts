/** The sections of the menu and their pages. The trail above a page also uses them. */
import type { Role } from '../../../src/account/roles.ts';
import type { IconName } from '../ui/icon.tsx';

export interface MenuItem {
  readonly label: string;
  readonly to: string;
  readonly icon: IconName;
  readonly needs?: Role | 'operator';
}
interface MenuSection {
  readonly title: string;
  readonly items: readonly MenuItem[];
}

export const SECTIONS: readonly MenuSection[] = [
  { title: '', items: [{ label: 'Home', to: '/home', icon: 'home' }] },
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
      { label: 'Webhooks', to: '/webhooks', icon: 'webhooks' },
      { label: 'Changes', to: '/changes', icon: 'changes' },
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
      { label: 'Operate', to: '/operate', icon: 'system', needs: 'operator' },
    ],
  },
];

/** Returns whether the path is the item's page or a page below it. */
export const isWithin = (path: string, { to }: MenuItem): boolean => path === to || path.startsWith(`${to}/`);
