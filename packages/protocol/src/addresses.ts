/** The URIs that a client may register. Each check returns what is wrong, or undefined. */

/** Redirect URIs: https, http on loopback, or a private-use scheme (RFC 8252 §7, RFC 9700 §2.1). */
export function redirectUriFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  if (read.protocol === 'https:') return undefined
  if (read.protocol === 'http:') return plainHttpFault(read)
  if (!read.protocol.includes('.')) {
    return `the scheme ${read.protocol} is not allowed: use https, http on loopback, or a scheme with a dot such as com.example.app:`
  }
  return undefined
}

/** URIs that the server or the browser calls: https, or http on loopback. */
export function webAddressFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  if (read.protocol === 'https:') return undefined
  return read.protocol === 'http:' ? plainHttpFault(read) : 'an https URI is required'
}

/** URLs of an operator's own programs, which the server calls: http is allowed everywhere, private addresses are too. */
export function calledAddressFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  return read.protocol === 'https:' || read.protocol === 'http:' ? undefined : 'an http or https URL is required'
}

/** OpenID Connect Registration §2: initiate_login_uri must use https. */
export function secureAddressFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  return read.protocol === 'https:' ? undefined : 'an https URI is required'
}

/** An origin (RFC 6454): scheme, host and port only. */
export function originFault(text: string): string | undefined {
  const fault = webAddressFault(text)
  if (fault !== undefined) return fault
  const { origin } = new URL(text)
  return origin === text ? undefined : `an origin must not have a path or a default port: write ${origin}`
}

/** IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}

/** Parses the URI, or returns what is wrong. URIs are compared as exact strings, so nothing in them may be ambiguous. */
function readAddress(text: string): URL | string {
  if (/[^\x21-\x7e]/.test(text)) return 'spaces and characters outside ASCII are not allowed'
  if (text.includes('*')) return 'wildcards are not allowed: list each URI'
  if (text.includes('\\')) return 'a backslash is not allowed'
  const address = URL.parse(text)
  if (address === null) return 'this is not an absolute URI'
  if (text.includes('#')) return 'a fragment (#…) is not allowed'
  if (address.username !== '' || address.password !== '') return 'a user or password is not allowed'
  if (!isPlainHost(address)) return `the host ${address.hostname} may contain only letters, digits, dots and hyphens`
  if (/(^|\/)\.\.?(\/|$)|%2e/i.test(extractPath(text))) return '. and .. segments are not allowed'
  return address
}

/**
 * URL parsers accept more in a host than DNS does. The hosts of clients enter content security policies, in which `;`
 * begins another directive, `,` another policy, and `'` a keyword.
 */
function isPlainHost({ protocol, hostname }: URL): boolean {
  if (protocol !== 'https:' && protocol !== 'http:') return true
  return /^(\[[\da-f:.]+\]|[a-z\d_.-]+)$/.test(hostname)
}

function extractPath(text: string): string {
  return text.replace(/^[^:]*:(\/\/[^/?]*)?/, '').split('?', 1)[0] ?? ''
}

function plainHttpFault(address: URL): string | undefined {
  if (isLoopback(address.hostname)) return undefined
  return 'http is allowed on loopback only (localhost, 127.0.0.1, [::1]): use https'
}
