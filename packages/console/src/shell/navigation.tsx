/** The navigation: the areas that the token allows, the state of the connection, and the user. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { server } from '../server.ts'
import { classes, Icon, IconButton, type IconName, Keys } from '../ui/index.ts'
import type { Area } from './area.ts'
import { Bell, useBell } from './bell.tsx'
import { Brand } from './brand.tsx'
import { ConnectionState } from './connection.tsx'
import { openPalette } from './palette.tsx'
import { href, place } from './router.ts'
import { Who } from './who.tsx'

const KEY = 'gatehouse:navigation'
/** Whether a wide window shows only the icons. */
export const isNarrow = signal(localStorage.getItem(KEY) === 'narrow')
/** Whether a narrow window shows the navigation, over the page. */
const isShown = signal(false)

export function toggleNavigation(): void {
  isNarrow.value = !isNarrow.value
  localStorage.setItem(KEY, isNarrow.value ? 'narrow' : 'wide')
}

export function Navigation({ areas }: { readonly areas: readonly Area[] }) {
  const [area] = place.value.path
  useBell()
  useEffect(() => {
    isShown.value = false
  }, [place.value])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') isShown.value = false
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <TopBar />
      {isShown.value && (
        <button
          type="button"
          class="curtain"
          aria-label="Close the navigation"
          onClick={() => {
            isShown.value = false
          }}
        />
      )}
      <aside id="navigation" class={classes('navigation', isShown.value && 'shown')}>
        <div class="navigation-top">
          <a class="navigation-brand" href={href()}>
            <Brand />
          </a>
          <Bell />
          <IconButton
            icon="sidebar"
            label={isNarrow.value ? 'Widen the navigation' : 'Narrow the navigation'}
            size="small"
            onClick={toggleNavigation}
          />
        </div>
        <button type="button" class="navigation-search" onClick={openPalette}>
          <Icon name="search" />
          <span>Search</span>
          <Keys of="Mod K" />
        </button>
        <nav aria-label="Areas">
          <ul>
            <Item name={undefined} icon="home" title="Start" current={area === undefined} />
            {areas.map(({ name, title, icon }) => (
              <Item key={name} name={name} icon={icon} title={title} current={area === name} />
            ))}
          </ul>
        </nav>
        <div class="navigation-foot">
          <a class="navigation-item" href={`${server.base}/docs`} target="_blank" rel="noopener">
            <Icon name="book" />
            <span>Documentation</span>
          </a>
          <ConnectionState />
          <Who />
        </div>
      </aside>
    </>
  )
}

function Item({
  name,
  icon,
  title,
  current,
}: {
  readonly name: string | undefined
  readonly icon: IconName
  readonly title: string
  readonly current: boolean
}) {
  return (
    <li>
      <a
        class="navigation-item"
        href={name === undefined ? href() : href(name)}
        aria-current={current ? 'page' : undefined}
        title={isNarrow.value ? title : undefined}
        onClick={() => {
          isShown.value = false
        }}
      >
        <Icon name={icon} />
        <span>{title}</span>
      </a>
    </li>
  )
}

/** Shown in narrow windows. */
function TopBar() {
  return (
    <header class="top-bar">
      <IconButton
        icon="menu"
        label="Navigation"
        aria-expanded={isShown.value}
        aria-controls="navigation"
        onClick={() => {
          isShown.value = !isShown.value
        }}
      />
      <Brand />
      <span class="row tight">
        <Bell />
        <IconButton icon="search" label="Search commands" onClick={openPalette} />
      </span>
    </header>
  )
}
