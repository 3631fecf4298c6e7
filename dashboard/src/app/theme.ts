/**
 * The colour scheme: the system's, or the one the user chose on this device. theme.js applies the choice before the
 * first paint.
 */
import { useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'storeroom.theme';

function loadTheme(): Theme {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

function saveTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

/** Example: `const [theme, setTheme] = useTheme()`. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(loadTheme);
  const change = (next: Theme) => {
    saveTheme(next);
    setTheme(next);
  };
  return [theme, change];
}
