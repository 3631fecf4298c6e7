// Runs before the first paint, as a classic script: a scheme the user has chosen (src/app/theme.ts) goes onto <html>. Without a choice the style sheet
// follows the system. Touches nothing else.
try {
  const theme = localStorage.getItem('storeroom.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system decides.
}
