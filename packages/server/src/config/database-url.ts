/** The parser of the PostgreSQL URL. Refuses anything that the driver would ignore or misread; no message shows a part of the password. */
import { nearest } from 'gatehouse-protocol'
import { BadSetting } from './parsers.ts'

/** What the driver does for each `sslmode`. Without verifying the certificate, TLS does not protect against anyone who can redirect the connection. */
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
      'it must look like postgres://user:password@host:5432/database, with every character of the user and password that is not a letter or digit percent-encoded',
    )
  for (const [name, value] of address.searchParams) {
    if (!PARAMETERS.includes(name)) throw unknownParameter(name, address)
    if (name !== 'sslmode') continue
    const mode = SSL_MODES.get(value)
    if (mode === undefined) throw new BadSetting(`the sslmode "${value}" ${instead(value, [...SSL_MODES.keys()])}`)
    address.searchParams.set(name, mode)
  }
  return address.href
}

/** An unencoded character can end the password early: the rest then looks like a path or a parameter. */
function isWellFormed(text: string, { username, password, pathname, search, hash }: URL): boolean {
  if (/\s/.test(text) || hash !== '' || search.includes('@')) return false
  try {
    for (const part of [username, password]) decodeURIComponent(part)
    return !/.[/@]/.test(decodeURIComponent(pathname))
  } catch {
    return false
  }
}

/** Without an @ it may be the password, with a character that was not encoded. */
function unknownParameter(name: string, { username }: URL): BadSetting {
  const shown = username === '' ? 'it has no user, and a parameter that' : `the parameter "${name}"`
  return new BadSetting(`${shown} ${instead(name, PARAMETERS)}`)
}

function instead(given: string, known: readonly string[]): string {
  const near = nearest(given, known)
  return `is not one of ${known.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`
}
