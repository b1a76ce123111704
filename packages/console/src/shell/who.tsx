/** The user, with the menu of the account. */
import { signOut, user } from '../gate.ts'
import { server } from '../server.ts'
import { Icon, Menu, type MenuItem } from '../ui/index.ts'
import { word } from '../ui/word.ts'
import { LANGUAGES, setLanguage } from './language.ts'
import { openShortcuts } from './shortcuts.tsx'
import { setTheme, type Theme, theme } from './theme.ts'

const THEMES: readonly { readonly value: Theme; readonly title: string }[] = [
  { value: 'system', title: 'System theme' },
  { value: 'light', title: 'Light theme' },
  { value: 'dark', title: 'Dark theme' },
]

export function Who() {
  const { name, preferred_username: username, email } = user.value ?? {}
  const shown = name ?? username ?? word('You')
  const items: readonly MenuItem[] = [
    { title: 'Your account', icon: 'user', href: `${server.base}/account` },
    'line',
    ...THEMES.map(({ value, title }) => ({
      title,
      checked: theme.value === value,
      act: () => setTheme(value),
    })),
    'line',
    ...LANGUAGES.map(({ tag, name: title }) => ({
      title,
      lang: tag,
      checked: server.language === tag,
      act: () => setLanguage(tag),
    })),
    'line',
    { title: 'Keyboard shortcuts', icon: 'info', act: openShortcuts },
    { title: 'Sign out', icon: 'signout', act: () => void signOut() },
  ]
  return (
    <Menu
      label={`Signed in as ${shown}`}
      class="who"
      items={items}
      header={
        <>
          <strong>{shown}</strong>
          <span>{[username, email].filter((text) => text !== undefined && text !== shown).join(' · ')}</span>
        </>
      }
    >
      <span class="avatar" aria-hidden="true">
        {initials(shown)}
      </span>
      <span class="who-name">{shown}</span>
      <Icon name="up" />
    </Menu>
  )
}

function initials(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter((word) => word !== '')
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => [...(word ?? '')][0] ?? '')
  return letters.join('').toUpperCase()
}
