/** The theme: that of the system, or the one that the user chose, kept in this browser. */
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'gatehouse:theme'
const kept = localStorage.getItem(KEY)

export const theme = signal<Theme>(kept === 'light' || kept === 'dark' ? kept : 'system')

export function setTheme(chosen: Theme): void {
  theme.value = chosen
  if (chosen === 'system') {
    localStorage.removeItem(KEY)
    delete document.documentElement.dataset.theme
  } else {
    localStorage.setItem(KEY, chosen)
    document.documentElement.dataset.theme = chosen
  }
}
