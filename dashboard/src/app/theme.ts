/**
 * The colour scheme: the system's, or the user's choice on this device. theme.js applies the choice before the first
 * paint.
 */
import { useState } from 'preact/hooks';
import { saveChoice } from '../browser/device.ts';

export type Theme = 'system' | 'light' | 'dark';

const readTheme = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? 'system';

/** Example: `const [theme, setTheme] = useTheme()`. */
export function useTheme() {
  const [theme, setTheme] = useState(readTheme);
  const change = (next: Theme) => {
    const chosen = next === 'system' ? undefined : next;
    if (chosen === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    saveChoice('storeroom.theme', chosen);
    setTheme(next);
  };
  return [theme, change] as const;
}
