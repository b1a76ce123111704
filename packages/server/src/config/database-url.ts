/** The parser of the PostgreSQL URL. What the driver would ignore or misread is refused, and no message shows a part of the password. */
import { nearest } from 'gatehouse-protocol'
import { BadSetting } from './parsers.ts'

/** What the driver does for each `sslmode`. Without a certificate that is verified, TLS protects from nobody who can redirect it. */
const SSL_MODES: ReadonlyMap<string, string> = new Map([
  ['disable', 'disable'],
  // The driver verifies for all of these, today; a later version will not.
  ['prefer', 'verify-full'],
  ['require', 'verify-full'],
  ['verify-ca', 'verify-full'],
  ['verify-full', 'verify-full'],
  ['no-verify', 'no-verify'],
])
/** Others would override what the server sets on its connections, or have no effect. */
const PARAMETERS = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']

export function parseDatabaseUrl(text: string): string {
  if (text === '') return text
  const address = URL.parse(text)
  if (address === null || !['postgres:', 'postgresql:'].includes(address.protocol) || !isWellFormed(text, address))
    throw new BadSetting(
      'it must look like postgres://user:password@host:5432/database, with every character of the user and the password percent-encoded that is not a letter or a digit',
    )
  for (const [name, value] of address.searchParams) {
    if (!PARAMETERS.includes(name)) throw unknown('parameter', name, PARAMETERS)
    if (name !== 'sslmode') continue
    const mode = SSL_MODES.get(value)
    if (mode === undefined) throw unknown('sslmode', value, [...SSL_MODES.keys()])
    address.searchParams.set(name, mode)
  }
  return address.href
}

/** A character of the password that is not encoded can end it early: what follows then looks like a path or a parameter. */
function isWellFormed(text: string, { username, password, pathname, search, hash }: URL): boolean {
  if (/\s/.test(text) || hash !== '' || `${pathname}${search}`.includes('@')) return false
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

function unknown(what: string, given: string, known: readonly string[]): BadSetting {
  const near = nearest(given, known)
  const suggestion = near === undefined ? '' : `; did you mean ${near}?`
  return new BadSetting(`the ${what} "${given}" is not one of ${known.join(', ')}${suggestion}`)
}
