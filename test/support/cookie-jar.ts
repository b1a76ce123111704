/** Keeps cookies by the rules of RFC 6265 that matter on one host, and remembers how each was set. */

export interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly secure: boolean
  readonly httpOnly: boolean
  readonly sameSite: string | undefined
  readonly domain: string | undefined
  /** Milliseconds; undefined for a cookie of the browser session. */
  readonly expires: number | undefined
}

export interface CookieJar {
  /** Stores what an answer sets. */
  store(url: URL, setCookies: readonly string[]): void
  header(url: URL): string | undefined
  all(): readonly Cookie[]
  get(name: string): Cookie | undefined
  put(cookie: Cookie): void
  clear(): void
  copy(): CookieJar
}

export function createCookieJar(now: () => number = Date.now, initial: readonly Cookie[] = []): CookieJar {
  const cookies = new Map<string, Cookie>()
  const key = (cookie: Cookie) => `${cookie.path} ${cookie.name}`
  for (const cookie of initial) cookies.set(key(cookie), cookie)
  return {
    store(url, setCookies) {
      for (const text of setCookies) {
        const cookie = parseCookie(text, url, now())
        if (cookie.secure && url.protocol !== 'https:' && !isLoopback(url)) continue
        if (cookie.expires !== undefined && cookie.expires <= now()) cookies.delete(key(cookie))
        else cookies.set(key(cookie), cookie)
      }
    },
    header(url) {
      const sent = [...cookies.values()].filter(
        (cookie) =>
          pathMatches(url.pathname, cookie.path) &&
          (!cookie.secure || url.protocol === 'https:' || isLoopback(url)) &&
          (cookie.expires === undefined || cookie.expires > now()),
      )
      return sent.length === 0 ? undefined : sent.map(({ name, value }) => `${name}=${value}`).join('; ')
    },
    all: () => [...cookies.values()],
    get: (name) => [...cookies.values()].find((cookie) => cookie.name === name),
    put: (cookie) => void cookies.set(key(cookie), cookie),
    clear: () => cookies.clear(),
    copy: () => createCookieJar(now, [...cookies.values()]),
  }
}

function parseCookie(text: string, url: URL, now: number): Cookie {
  const [pair = '', ...rest] = text.split(';').map((part) => part.trim())
  const split = pair.indexOf('=')
  const attributes = new Map(
    rest.map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? [part.toLowerCase(), ''] : [part.slice(0, at).toLowerCase(), part.slice(at + 1)]
    }),
  )
  const maxAge = attributes.get('max-age')
  const expires = attributes.get('expires')
  return {
    name: pair.slice(0, split),
    value: pair.slice(split + 1),
    path: attributes.get('path') ?? (url.pathname.replace(/\/[^/]*$/, '') || '/'),
    secure: attributes.has('secure'),
    httpOnly: attributes.has('httponly'),
    sameSite: attributes.get('samesite'),
    domain: attributes.get('domain'),
    expires:
      maxAge !== undefined ? now + Number(maxAge) * 1000 : expires !== undefined ? Date.parse(expires) : undefined,
  }
}

function pathMatches(path: string, cookiePath: string): boolean {
  if (!path.startsWith(cookiePath)) return false
  return path.length === cookiePath.length || cookiePath.endsWith('/') || path[cookiePath.length] === '/'
}

/** Browsers treat loopback as a secure place. */
function isLoopback(url: URL): boolean {
  return url.hostname === '127.0.0.1' || url.hostname === 'localhost'
}
