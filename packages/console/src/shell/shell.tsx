/** The frame of the console: navigation, the area that the address names, palette, questions and messages. */
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { may, signOut } from '../gate.ts'
import { server } from '../server.ts'
import {
  Await,
  Button,
  ButtonLink,
  classes,
  Empty,
  ErrorNotice,
  Forbidden,
  Loading,
  Page,
  useLoad,
} from '../ui/index.ts'
import { word } from '../ui/word.ts'
import { Announcements } from './announce.tsx'
import { type Area, type AreaProps, isVisible, loadArea } from './area.ts'
import { type Command, useCommands } from './commands.ts'
import { Questions } from './dialogs.tsx'
import { isKiosk } from './kiosk.ts'
import { LANGUAGES, setLanguage } from './language.ts'
import { isNarrow, Navigation, toggleNavigation } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { go, href, place } from './router.ts'
import { openShortcuts, Shortcuts } from './shortcuts.tsx'
import { StepUpDialog } from './step-up.tsx'
import { setTheme } from './theme.ts'
import { Toasts } from './toasts.tsx'

export function Shell({ areas }: { readonly areas: readonly Area[] }) {
  useCommands(() => shellCommands(areas))
  const [name] = place.value.path
  const main = useRef<HTMLElement>(null)
  useFocusOnArea(main, name)
  return (
    <div class={classes('shell', isNarrow.value && 'narrow', isKiosk.value && 'kiosk')}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        To the content
      </button>
      {!isKiosk.value && <Navigation areas={areas.filter(isVisible)} />}
      <main ref={main} id="main" class="main" tabIndex={-1}>
        <Content areas={areas} name={name} />
      </main>
      <Palette />
      <Shortcuts />
      <Questions />
      <StepUpDialog />
      <Toasts />
      <Announcements />
    </div>
  )
}

function Content({ areas, name }: { readonly areas: readonly Area[]; readonly name: string | undefined }) {
  if (name === undefined) return <StartPage areas={areas.filter(isVisible)} />
  const area = areas.find((candidate) => candidate.name === name)
  if (area === undefined) return <Unknown />
  if (!may(...area.rights))
    return (
      <Page title={area.title}>
        <Forbidden rights={area.rights} />
      </Page>
    )
  return <AreaPage key={area.name} area={area} />
}

/** Loaded when it is shown: a link to an area does not need it. */
function StartPage({ areas }: { readonly areas: readonly Area[] }) {
  const loaded = useLoad(() => import('./start.tsx'), [])
  return (
    <Await of={loaded} title="The page could not be loaded">
      {({ Start }) => <Start areas={areas} />}
    </Await>
  )
}

type LoadedArea = { readonly Component: ComponentType<AreaProps> } | { readonly error: unknown } | undefined

function AreaPage({ area }: { readonly area: Area }) {
  const [loaded, setLoaded] = useState<LoadedArea>(undefined)
  const load = () => {
    setLoaded(undefined)
    loadArea(area).then(
      (Component) => setLoaded({ Component }),
      (error) => setLoaded({ error }),
    )
  }
  useEffect(load, [])
  if (loaded === undefined) return <Loading />
  if ('error' in loaded)
    return (
      <Page title={area.title}>
        <ErrorNotice title={`${area.title} could not be loaded`} error={loaded.error} onRetry={load} />
        <p>
          If the server has been upgraded, <Button onClick={() => location.reload()}>reload the page</Button>
        </p>
      </Page>
    )
  const { path, query } = place.value
  return <loaded.Component path={path.slice(1)} query={query} />
}

function Unknown() {
  return (
    <Page title="Not found">
      <Empty
        icon="search"
        title="There is nothing at this address"
        actions={<ButtonLink href={href()}>Go to the start page</ButtonLink>}
      >
        The link may be out of date or mistyped.
      </Empty>
    </Page>
  )
}

/** Moves the focus to a new area, so that a screen reader reads it and the keyboard continues there. */
function useFocusOnArea(main: { readonly current: HTMLElement | null }, name: string | undefined): void {
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [name])
}

function shellCommands(areas: readonly Area[]): readonly Command[] {
  const goTo = areas.filter(isVisible).map(({ name, title, about, icon }) => ({
    id: `go-${name}`,
    title,
    group: 'Go to',
    words: about,
    icon,
    act: () => go(href(name)),
  }))
  return [
    ...goTo,
    { id: 'go-start', title: 'Start', group: 'Go to', icon: 'home', act: () => go(href()) },
    {
      id: 'go-account',
      title: 'Your account',
      group: 'Go to',
      words: 'password passkey sessions',
      icon: 'user',
      act: () => location.assign(`${server.base}/account`),
    },
    {
      id: 'go-documentation',
      title: 'Documentation',
      group: 'Go to',
      words: 'docs help manual reference',
      icon: 'book',
      act: () => void window.open(`${server.base}/docs`, '_blank', 'noopener'),
    },
    {
      id: 'shortcuts',
      title: 'Keyboard shortcuts',
      group: 'Console',
      words: 'keys help',
      icon: 'info',
      keys: '?',
      act: openShortcuts,
    },
    {
      id: 'theme-light',
      title: 'Light theme',
      group: 'Console',
      icon: 'sun',
      words: word('bright'),
      act: () => setTheme('light'),
    },
    { id: 'theme-dark', title: 'Dark theme', group: 'Console', icon: 'moon', act: () => setTheme('dark') },
    {
      id: 'theme-system',
      title: 'Use the system theme',
      group: 'Console',
      icon: 'system',
      act: () => setTheme('system'),
    },
    ...LANGUAGES.map(({ tag, name: title }) => ({
      id: `language-${tag}`,
      title,
      about: 'Language',
      group: 'Console',
      words: 'language Sprache',
      icon: 'user' as const,
      act: () => setLanguage(tag),
    })),
    {
      id: 'navigation',
      title: 'Collapse or expand the navigation',
      group: 'Console',
      icon: 'sidebar',
      act: toggleNavigation,
    },
    {
      id: 'sign-out',
      title: 'Sign out',
      group: 'Console',
      icon: 'signout',
      words: 'log out',
      act: () => void signOut(),
    },
  ]
}
