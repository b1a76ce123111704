/** Which addresses a client may register; each check says what is wrong in a few words, or undefined. */

/** Where codes and tokens are sent: https, a loopback http address, or an app's own scheme (RFC 8252 §7, RFC 9700 §2.1). */
export function redirectUriFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  if (read.protocol === 'https:') return undefined
  if (read.protocol === 'http:') return plainHttpFault(read)
  if (!read.protocol.includes('.')) {
    return `the scheme ${read.protocol} is not taken: use https, http on loopback, or a scheme with a dot such as com.example.app:`
  }
  return undefined
}

/** Where the server or the browser calls the client: https, or http on loopback. */
export function webAddressFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  if (read.protocol === 'https:') return undefined
  return read.protocol === 'http:' ? plainHttpFault(read) : 'an https address is needed'
}

/** OpenID Connect Registration §2: initiate_login_uri is https, without exception. */
export function secureAddressFault(text: string): string | undefined {
  const read = readAddress(text)
  if (typeof read === 'string') return read
  return read.protocol === 'https:' ? undefined : 'an https address is needed'
}

/** A browser's origin (RFC 6454): scheme, host, port and nothing after. */
export function originFault(text: string): string | undefined {
  const fault = webAddressFault(text)
  if (fault !== undefined) return fault
  const { origin } = new URL(text)
  return origin === text ? undefined : `an origin has no path and no default port: write ${origin}`
}

/** True for the addresses that never leave the machine. */
function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}

/** What is wrong with the text as an address at all, or its parts. Registered addresses are compared letter by letter, so nothing in them may be open to two readings. */
function readAddress(text: string): URL | string {
  if (/[^\x21-\x7e]/.test(text)) return 'an address has no spaces and no characters outside ASCII'
  if (text.includes('*')) return 'wildcards are not taken: list each address'
  if (text.includes('\\')) return 'an address has no backslash'
  const address = URL.parse(text)
  if (address === null) return 'this is not an absolute address'
  if (text.includes('#')) return 'a fragment (#…) is not allowed'
  if (address.username !== '' || address.password !== '') return 'an address has no user or password'
  if (/(^|\/)\.\.?(\/|$)|%2e/i.test(pathOf(text))) return 'an address has no . or .. segments'
  return address
}

function pathOf(text: string): string {
  return text.replace(/^[^:]*:(\/\/[^/?]*)?/, '').split('?', 1)[0] ?? ''
}

function plainHttpFault(address: URL): string | undefined {
  if (isLoopbackHost(address.hostname)) return undefined
  return 'http is for loopback (localhost, 127.0.0.1, [::1]) only: use https'
}
