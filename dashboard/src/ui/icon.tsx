/**
 * The icons, 16 by 16, in the colour of the text beside them. Screen readers skip them, so each icon needs a text or a
 * label.
 */
const PATHS = {
  home: 'M2.5 7.5L8 2.5l5.5 5M4 6.5v7h8v-7M6.8 13.5v-4h2.4v4',
  orders: 'M4 2.5h8v11l-2-1.2-2 1.2-2-1.2-2 1.2zM6.5 6h3M6.5 8.5h3',
  customers:
    'M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M2 13c.3-2.3 1.9-3.5 4-3.5S9.7 10.7 10 13' +
    'M10.5 3.3a2.1 2.1 0 0 1 0 3.9M12 9.9c1.2.5 1.9 1.6 2 3.1',
  inventory: 'M8 2l5.5 2.9v6.2L8 14l-5.5-2.9V4.9zM2.7 5L8 7.8 13.3 5M8 7.8V14',
  keys: 'M10.2 9.3a3.5 3.5 0 1 0-3.1-1.9L2.5 12v1.5H5V12h1.5v-1.5H8l1-1.4M11 5h.01',
  webhooks: 'M2.5 8h7M7 5.5L9.5 8 7 10.5M9.5 3.5h4v9h-4',
  changes: 'M2.5 6h9.5L9.5 3.5M13.5 10H4l2.5 2.5',
  requests: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  usage: 'M3 13V9M6.3 13V6M9.7 13V8M13 13V3',
  explorer: 'M3 4l4 4-4 4M8.5 12H13',
  fields: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6',
  settings:
    'M2.5 5h6M11.5 5h2M10 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M2.5 11h2M7.5 11h6' +
    'M6 12.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3',
  users: 'M8 7.5A2.5 2.5 0 1 0 8 2.5a2.5 2.5 0 0 0 0 5M3 13.5c.4-2.7 2.4-4 5-4s4.6 1.3 5 4',
  audit: 'M8 2l5 1.8v4c0 3-2 5.2-5 6.2-3-1-5-3.2-5-6.2v-4zM5.8 8l1.6 1.6 2.9-3.1',
  signOut: 'M6.5 2.5H3v11h3.5M7 8h6.5M11 5.5L13.5 8 11 10.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  check: 'M3 8.5l3.3 3.3L13 4.5',
  warning: 'M8 2.5l6 11H2zM8 6.5v3M8 11.5v.01',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 7.5V11M8 5v.01',
  next: 'M6 3.5L10.5 8 6 12.5',
  back: 'M10 3.5L5.5 8l4.5 4.5',
  plus: 'M8 3v10M3 8h10',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.3l3.2 3.2',
  download: 'M8 2.5v7.5M5 7.5l3 3 3-3M2.5 13.5h11',
  reload: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.5h-2.5',
  show: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4',
  hide:
    'M2.5 2.5l11 11M6.3 3.8A6 6 0 0 1 8 3.5c4 0 6.5 4.5 6.5 4.5a12 12 0 0 1-2 2.5' +
    'M4 5A12 12 0 0 0 1.5 8S4 12.5 8 12.5a6 6 0 0 0 2.5-.5M6.7 6.7a2 2 0 0 0 2.7 2.7',
  light:
    'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1.1 1.1' +
    'M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1',
  dark: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7',
  system: 'M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3',
} as const;
export type IconName = keyof typeof PATHS;

/** Example: `<Icon name="plus" />`. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
