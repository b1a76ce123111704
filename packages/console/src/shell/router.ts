/** The address of the page below /console, and how it changes. */
import { computed, signal } from '@preact/signals'
import { server } from '../server.ts'

const ROOT = `${server.base}/console`

export interface Place {
  /** Below /console, decoded: `['people', '42']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

const address = signal(read())

/** Where the page is. */
export const place = computed<Place>(() => {
  const { pathname, searchParams } = new URL(address.value, location.origin)
  const path = pathname
    .slice(ROOT.length)
    .split('/')
    .filter((part) => part !== '')
  return { path: path.map(decode), query: searchParams }
})

/** The address of a place, for links: `href('people', '42')`, `href('query', { tab: '3' })`. */
export function href(...parts: readonly (string | Readonly<Record<string, string | undefined>>)[]): string {
  const path = parts.filter((part) => typeof part === 'string').map(encodeURIComponent)
  const query = new URLSearchParams()
  for (const part of parts)
    if (typeof part !== 'string')
      for (const [name, value] of Object.entries(part)) if (value !== undefined) query.set(name, value)
  const search = query.toString()
  return [ROOT, ...path].join('/') + (search === '' ? '' : `?${search}`)
}

/** Goes to an address that `href` gave. `replace` leaves no entry in the history. */
export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === address.value) return
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  address.value = read()
}

/** Follows links below /console without loading the page. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    address.value = read()
  })
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!isPlain || event.defaultPrevented || link === null || link.target !== '' || link.hasAttribute('download'))
      return
    const url = new URL(link.href)
    if (url.origin !== location.origin || !isBelow(url.pathname) || url.hash !== '') return
    event.preventDefault()
    go(url.pathname + url.search)
  })
}

/** After signing in, goes to the address in `to`. A link from anywhere may have set it: only places below /console count. */
export function restorePlace(): void {
  const to = new URLSearchParams(location.search).get('to')
  if (to === null) return
  const url = URL.canParse(to, location.origin) ? new URL(to, location.origin) : undefined
  const isPlace = url?.origin === location.origin && isBelow(url.pathname)
  go(isPlace ? url.pathname + url.search : ROOT, { replace: true })
}

function isBelow(pathname: string): boolean {
  return pathname === ROOT || pathname.startsWith(`${ROOT}/`)
}

function read(): string {
  return location.pathname + location.search
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
