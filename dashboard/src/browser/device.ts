/**
 * Keeps small choices on this device, such as the team of the last sign-in. Without storage, they last until the page
 * is closed.
 */

/** Example: `loadChoice('storeroom.team')`; returns undefined if there is none. */
export function loadChoice(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Example: `saveChoice('storeroom.team', 'demo')`; undefined removes it. */
export function saveChoice(key: string, choice: string | undefined): void {
  try {
    if (choice === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, choice);
  } catch {
    // The browser does not allow storage.
  }
}
