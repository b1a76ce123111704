/** What the pipeline reads from the head of a request (RFC 9112 §3): the client's address, the Host header, the target. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { Refusal } from 'gatehouse-protocol'

export interface ProxyNetworks {
  readonly trustedProxies: readonly string[]
  /** Addresses and networks without limits. Requests that they forward for others must not count as their own. */
  readonly exempt: readonly string[]
}

/**
 * Reads X-Forwarded-For from the right: the first address that is not a trusted proxy's is the client's. If that address is exempt
 * from limits and forwards for another client, the client is unknown: all such requests are counted as one address. The first such
 * proxy is reported.
 */
export class ClientAddresses {
  readonly #onUnlistedProxy: (address: string) => void
  #areProxiesKnown = false
  #isTrusted!: (address: string) => boolean
  #isExempt!: (address: string) => boolean
  #isReported = false

  constructor(networks: ProxyNetworks, onUnlistedProxy: (address: string) => void) {
    this.#onUnlistedProxy = onUnlistedProxy
    this.setNetworks(networks)
  }

  setNetworks({ trustedProxies, exempt }: ProxyNetworks): void {
    this.#areProxiesKnown = trustedProxies.length > 0
    this.#isTrusted = networkList(trustedProxies)
    this.#isExempt = networkList(exempt)
    this.#isReported = false
  }

  readonly read = ({ socket, headers }: IncomingMessage): string => {
    let client = socket.remoteAddress ?? ''
    if (!FORWARDED.some((name) => headers[name] !== undefined)) return client
    const hops = this.#areProxiesKnown ? forwardedHops(headers) : []
    const length = hops.length
    while (hops.length > 0 && this.#isTrusted(client)) client = hops.pop() ?? ''
    const isForAnother = hops.length > 0 || length === 0
    if (!isForAnother || !this.#isExempt(client)) return client
    if (!this.#isReported) this.#onUnlistedProxy(client)
    this.#isReported = true
    return UNKNOWN
  }
}

export function connectionAddress({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? ''
}

const UNKNOWN = 'unknown'
/** The header fields of proxies. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-forwarded-proto', 'x-real-ip', 'via'] as const

/** Whether an address is in one of the networks, each given with or without a prefix length. */
export function networkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = addressFamily(address)
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return (address) => list.check(address, addressFamily(address))
}

/** isIPv6 is not used: its regular expression takes 10 ms to compile, and most servers never see such an address. */
function addressFamily(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** In the order of the header: each proxy appends the address that called it. */
function forwardedHops(headers: IncomingHttpHeaders): string[] {
  const header = [headers['x-forwarded-for'] ?? []].flat().join(',')
  const hops = header.split(',').map((hop) => hop.trim())
  return hops.filter((hop) => hop !== '').map(bareAddress)
}

/** Without the port and brackets that some proxies add. All invalid addresses share one count. */
export function bareAddress(text: string): string {
  if (isIP(text) !== 0) return text
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/:\d+$/, '')
  return isIP(bare) === 0 ? UNKNOWN : bare
}

/** RFC 3986 §3.2.2, without the comma: Node joins two headers with one, and no host name contains it. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/i

/** Throws unless the header is as required. The server itself never uses its value. */
export function checkHost({ headers: { host }, httpVersion }: IncomingMessage): void {
  if (host === undefined) {
    if (httpVersion === '1.1') throw badRequest('The request has no Host header: HTTP/1.1 requires one')
  } else if (!HOST.test(host))
    throw badRequest('The request must have one Host header with a host and, if needed, a port')
}

/** RFC 9112 §6.1: Node removes `chunked`, and leaves every other coding in the body. */
export function checkTransferCoding({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new Refusal('http.unsupported_coding', 501, 'The only transfer coding that is supported is chunked', {
      headers: { connection: 'close' },
    })
}

function badRequest(text: string): Refusal {
  return new Refusal('http.bad_request', 400, text, { headers: { connection: 'close' } })
}

const LONGEST_TARGET = 8 * 1024

/**
 * The target as origin-form, without the base path of the issuer. A path that is not valid UTF-8, or that contains
 * U+0000, is escaped again, so that it matches nothing and never reaches a database.
 */
export function localTarget(url: string, base: string): string {
  const own = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*\/?/i, '/')
  const local = base !== '' && isBelow(own, base) ? own.slice(base.length).replace(/^(?!\/)/, '/') : own
  if (!local.includes('%')) return local
  const path = targetPath(local)
  return isText(path) ? local : path.replaceAll('%', '%25') + local.slice(path.length)
}

/** The base path itself is the root. */
function isBelow(target: string, base: string): boolean {
  return target.startsWith(base) && ['/', '?', undefined].includes(target[base.length])
}

export function targetPath(target: string): string {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** Without the question mark; empty where there is none. */
export function targetQuery(target: string): string {
  const start = target.indexOf('?')
  return start < 0 ? '' : target.slice(start + 1)
}

export function checkTargetLength(target: string): void {
  if (target.length > LONGEST_TARGET)
    throw new Refusal('request.url_too_long', 414, `The address is longer than ${LONGEST_TARGET} bytes`)
}

/** The parts of a path, each decoded separately: an encoded slash is not a separator. */
export function splitPath(path: string): readonly string[] {
  const segments = path.split('/')
  return path.includes('%') ? segments.map((segment) => decodeURIComponent(segment)) : segments
}

/** A name that occurs more than once has a list of values. */
export type QueryValues = ReadonlyMap<string, string | readonly string[]>

const NO_VALUES: QueryValues = new Map()

/** Lenient: a value that is badly encoded is taken as it is. `readParameters` is the strict reader for OAuth. */
export function readQuery(target: string): QueryValues {
  const text = targetQuery(target)
  if (text === '') return NO_VALUES
  const values = new Map<string, string | string[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    const previous = values.get(name)
    if (previous === undefined) values.set(name, value)
    else if (typeof previous === 'string') values.set(name, [previous, value])
    else previous.push(value)
  }
  return values
}

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

export function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}
