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
const PARAMETERS = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs']
/** Gatehouse writes, so libpq's other values (`read-only`, `standby`, `prefer-standby`) would choose a server that it cannot use. */
const TARGETS = ['read-write', 'primary', 'any']

/** Several hosts are written to the parameters `host` and `port`, because a URL has room for one. */
export function parseDatabaseUrl(text: string): string {
  if (text === '') return text
  const { first, hosts } = splitHosts(text)
  const address = URL.parse(first)
  if (address === null || !['postgres:', 'postgresql:'].includes(address.protocol) || !isWellFormed(first, address))
    throw new BadSetting(
      'it must look like postgres://user:password@host:5432/database, with every character of the user and password that is not a letter or digit percent-encoded',
    )
  for (const [name, value] of [...address.searchParams]) {
    if (!PARAMETERS.includes(name)) throw unknownParameter(name, address)
    if (address.searchParams.getAll(name).length > 1) throw new BadSetting(`the parameter "${name}" is given twice`)
    if (name === 'target_session_attrs' && !TARGETS.includes(value))
      throw new BadSetting(`the target_session_attrs "${value}" ${instead(value, TARGETS)}`)
    if (name !== 'sslmode') continue
    const mode = SSL_MODES.get(value)
    if (mode === undefined) throw new BadSetting(`the sslmode "${value}" ${instead(value, [...SSL_MODES.keys()])}`)
    address.searchParams.set(name, mode)
  }
  if (hosts.length > 1) setHosts(address, hosts)
  else if (address.port !== '' && address.searchParams.has('port') && !address.searchParams.has('host'))
    throw new BadSetting('it has a port after its host and the parameter port: give the port in one place')
  checkCounts(address)
  checkServers(address)
  return address.href
}

/** The URL with its first host alone, and all of its hosts. */
function splitHosts(text: string): { first: string; hosts: readonly string[] } {
  const [, start = '', authority = '', rest = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/is.exec(text) ?? []
  // A URL with a user needs a host; the parameter replaces it.
  if (authority === '' && start.endsWith('@') && /[?&]host=/.test(rest))
    return { first: `${start}localhost${rest}`, hosts: [] }
  const hosts = authority.split(',')
  // The parameters replace it; a URL could hold neither the folder of a socket nor every port.
  const first = HOST.exec(hosts[0] ?? '')
  const isPlain = first !== null && !first[1]?.includes('%') && Number(first[2] ?? 1) <= 65_535
  return hosts.length > 1
    ? { first: `${start}${isPlain ? hosts[0] : 'localhost'}${rest}`, hosts }
    : { first: text, hosts }
}

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]@\s]+)(?::(\d+))?$/i

function setHosts(address: URL, hosts: readonly string[]): void {
  const parts = hosts.map((host) => HOST.exec(host))
  if (parts.includes(null))
    throw new BadSetting('several hosts must look like host:5432,other:5432, each with its port or without one')
  if (address.searchParams.has('host'))
    throw new BadSetting('it has several hosts and the parameter host: name them in one place')
  if (address.searchParams.has('port'))
    throw new BadSetting('it has several hosts and the parameter port: give each host its port, as in host:5432')
  address.searchParams.set('host', parts.map((part) => decodeHost(part?.[1] ?? '')).join(','))
  address.searchParams.set('port', parts.map((part) => part?.[2] ?? '5432').join(','))
}

/** As in libpq: one port for all hosts, or one for each. */
function checkCounts({ searchParams }: URL): void {
  const hosts = searchParams.get('host')?.split(',') ?? ['']
  const ports = searchParams.get('port')?.split(',') ?? ['']
  if (hosts.length > 1 && hosts.includes('')) throw new BadSetting('one of its hosts is empty')
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new BadSetting(`it has ${hosts.length} hosts and ${ports.length} ports: give one port, or one for each host`)
}

/** As in libpq, the folder of a Unix socket is percent-encoded. */
function decodeHost(host: string): string {
  try {
    return decodeURIComponent(host)
  } catch {
    throw new BadSetting('a host has a % that is not followed by two hexadecimal digits of a character')
  }
}

/** Ports that the driver could not connect to, and servers that would count twice. */
function checkServers({ searchParams, hostname, port }: URL): void {
  const hosts = (searchParams.get('host') ?? hostname).split(',')
  const ports = (searchParams.get('port') ?? (port || '5432')).split(',')
  for (const each of ports)
    if (!/^\d+$/.test(each) || Number(each) < 1 || Number(each) > 65_535)
      throw new BadSetting(`the port "${each}" is not a number from 1 to 65535`)
  const seen = new Set<string>()
  for (const [index, host] of hosts.entries()) {
    const server = `${host.startsWith('/') ? host : host.toLowerCase()}:${Number(ports[index] ?? ports[0])}`
    if (seen.has(server)) throw new BadSetting(`the server ${server} is named twice`)
    seen.add(server)
  }
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
