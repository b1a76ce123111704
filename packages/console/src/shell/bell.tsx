/** The bell: how many of the user's alerts fire, and which. */
import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Alert } from '../../../client/src/index.ts'
import { gate, leaving, may, session } from '../gate.ts'
import { server } from '../server.ts'
import { Icon, Menu, type MenuItem } from '../ui/index.ts'
import { href } from './router.ts'

const REFRESH_MS = 10_000
/** Where there are no alerts, it asks at each sixth of these times. */
const SELDOM = 6
const MOST_LISTED = 12

const alerts = signal<readonly Alert[]>([])

/** After an alert was made or changed here. */
export async function refreshBell(): Promise<void> {
  if (!isShown() || session.value.kind !== 'signed-in') return
  try {
    alerts.value = await Array.fromAsync(gate.alerts.list())
  } catch {
    // Asked again soon.
  }
}

function isShown(): boolean {
  return server.services.includes('query') && may('Platform/')
}

/** Keeps the bell up to date while it is shown. */
export function useBell(): void {
  useEffect(() => {
    leaving.push(forgetPush)
    return () => void leaving.splice(leaving.indexOf(forgetPush), 1)
  }, [])
  useEffect(() => {
    const stop = effect(() => {
      if (session.value.kind === 'signed-in') void refreshBell()
    })
    let times = 0
    const timer = setInterval(() => {
      const isDue = alerts.value.length > 0 || ++times % SELDOM === 0
      if (isDue && document.visibilityState === 'visible') void refreshBell()
    }, REFRESH_MS)
    return () => {
      stop()
      clearInterval(timer)
    }
  }, [])
}

export function Bell() {
  if (!isShown()) return null
  const wanted = alerts.value.filter(({ state }) => state === 'firing' || state === 'error')
  return (
    <Menu
      label={
        wanted.length === 0
          ? 'Alerts: none fires'
          : wanted.length === 1
            ? 'Alerts: 1 fires'
            : `Alerts: ${wanted.length} fire`
      }
      class="button plain icon-button bell"
      items={listItems(wanted)}
    >
      <Icon name="bell" />
      {wanted.length > 0 && (
        <span class="bell-count" aria-hidden="true">
          {wanted.length > 99 ? '99+' : wanted.length}
        </span>
      )}
    </Menu>
  )
}

function listItems(wanted: readonly Alert[]): readonly MenuItem[] {
  const items = wanted.slice(0, MOST_LISTED).map(
    ({ id, name, state }): MenuItem => ({
      title: name,
      icon: state === 'error' ? 'error' : 'bell',
      href: href('alerts', id),
    }),
  )
  return [
    ...items,
    ...(items.length > 0 ? ['line' as const] : []),
    { title: 'All alerts', icon: 'right', href: href('alerts') },
  ]
}

/** At a sign-out this browser gets no more notices. Loaded only where it may be. */
async function forgetPush(): Promise<void> {
  if (localStorage.getItem('gatehouse:push') !== null) await (await import('../push.ts')).stopPush()
}
