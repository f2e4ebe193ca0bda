/** Light, dark, or as the system is: kept in this browser. */
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_KEY = 'fanfare.theme';

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(THEME_KEY);
  return THEMES.find((one) => one === kept) ?? 'system';
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(THEME_KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
