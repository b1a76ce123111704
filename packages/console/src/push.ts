/** Whether this browser gets notices by push, and what changes that. */
import { signal } from '@preact/signals'
import { gate } from './gate.ts'
import { server } from './server.ts'

/** The id of this browser at the server; undefined while it gets no notices. */
export const pushId = signal<string | undefined>(undefined)

const KEY = 'gatehouse:push'

export function canPush(): boolean {
  return 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis
}

/** What this browser remembers, as far as it is still so. */
export async function readPush(): Promise<void> {
  if (!canPush()) return
  const registration = await navigator.serviceWorker.getRegistration(scope())
  const subscription = await registration?.pushManager.getSubscription()
  pushId.value = subscription == null ? undefined : (localStorage.getItem(KEY) ?? undefined)
}

/** Asks the user, and says so to the server. Call it in a click. */
export async function startPush(): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Error('This browser does not allow notifications from this site: allow them in its settings')
  const registration = await navigator.serviceWorker.register(`${server.base}/console/push.js`, { scope: scope() })
  const { key } = await gate.alerts.browsers()
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
  const { id } = await gate.alerts.addBrowser(subscription.toJSON())
  localStorage.setItem(KEY, id)
  pushId.value = id
}

/** Also at a sign-out: the next user of the browser does not get notices of another. */
export async function stopPush(): Promise<void> {
  const id = localStorage.getItem(KEY)
  localStorage.removeItem(KEY)
  pushId.value = undefined
  if (id === null) return
  await gate.alerts.removeBrowser(id).catch(() => {})
  const registration = await navigator.serviceWorker.getRegistration(scope())
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

function scope(): string {
  return `${server.base}/console/`
}
