/**
 * The product's name and mark, for pages outside the shell.
 */

export const Brand = () => (
  <p class="brand">
    <svg viewBox="6 3 20 22" width="28" height="28" aria-hidden="true" focusable="false">
      <path class="brand-shelves" d="M8 9.5h16M8 16h16M8 22.5h16" />
      <path class="brand-boxes" d="M10 5h5v3h-5zM10 18h8v3h-8z" />
      <path class="brand-box" d="M17 11.5h5v3h-5z" />
    </svg>
    Storeroom
  </p>
);
