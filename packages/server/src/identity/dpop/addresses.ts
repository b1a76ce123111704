/** The addresses that DPoP proofs name (`htu`, RFC 9449 §4.2), normalised as in RFC 3986 §6.2.2 and §6.2.3. */
import { isLoopback } from 'gatehouse-protocol'

export type MatchesAddress = (address: string, path: string) => boolean

/** The Host header is never trusted: the origin is that of the issuer, or one that the settings list. */
export function createAddresses(issuer: string, publicOrigins: readonly string[]): MatchesAddress {
  const { origin, pathname } = new URL(issuer)
  const origins = new Set([origin, ...loopbackNames(issuer), ...publicOrigins])
  const base = normalPath(pathname.replace(/\/$/, ''))
  return (address, path) => {
    // RFC 9449 §4.3: a query and a fragment are ignored.
    const url = URL.parse(address.replace(/^ws(s?):/i, 'http$1:'))
    if (url === null || url.username !== '' || url.password !== '' || !origins.has(url.origin)) return false
    const named = normalPath(url.pathname)
    const wanted = normalPath(path)
    return named === wanted || named === `${base}${wanted}`
  }
}

/** A server on a developer's machine is reached by any name of that machine. */
function loopbackNames(issuer: string): readonly string[] {
  const { protocol, hostname, port } = new URL(issuer)
  if (!isLoopback(hostname)) return []
  return ['localhost', '127.0.0.1', '[::1]'].map((name) => new URL(`${protocol}//${name}:${port}`).origin)
}

const UNRESERVED = /^[\w.~-]$/

/** Escapes of unreserved characters are decoded, others are in capitals. Like the router, it ignores the case of letters. */
function normalPath(path: string): string {
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (whole, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return UNRESERVED.test(character) ? character : whole
  })
  return decoded.toLowerCase()
}
