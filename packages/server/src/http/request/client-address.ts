/** IP addresses: the client's behind trusted proxies (X-Forwarded-For), and lists of networks. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

export interface AddressOptions {
  readonly trustedProxies: readonly string[]
  /** Addresses and networks that no limit applies to: what they forward for others must not be taken for their own. */
  readonly exempt: readonly string[]
  /** Such an address forwards for clients whose addresses are not known. Called once. */
  readonly onUnlistedProxy: (address: string) => void
}

/**
 * Reads X-Forwarded-For from the right: the first address that is not a trusted proxy's is the client's. If that address is exempt
 * from limits and forwards for somebody else, the client is unknown: all such requests are counted as one address.
 */
export function clientAddress({ trustedProxies, exempt, onUnlistedProxy }: AddressOptions): AddressOf {
  const isTrusted = networkList(trustedProxies)
  const isExempt = networkList(exempt)
  let isReported = false
  return ({ socket, headers }) => {
    const nearest = socket.remoteAddress ?? ''
    if (!isForwarded(headers)) return nearest
    const hops = trustedProxies.length === 0 ? [] : forwardedHops(headers)
    const length = hops.length
    let client = nearest
    while (hops.length > 0 && isTrusted(client)) client = hops.pop() ?? ''
    const isForAnother = hops.length > 0 || length === 0
    if (!isForAnother || !isExempt(client)) return client
    if (!isReported) onUnlistedProxy(client)
    isReported = true
    return UNKNOWN
  }
}

export type AddressOf = (request: IncomingMessage) => string

export const connectionAddress: AddressOf = ({ socket }) => socket.remoteAddress ?? ''

const UNKNOWN = 'unknown'

/** By a proxy. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return (
    headers['x-forwarded-for'] !== undefined ||
    headers.forwarded !== undefined ||
    headers['x-forwarded-proto'] !== undefined ||
    headers['x-real-ip'] !== undefined ||
    headers.via !== undefined
  )
}

/** Whether an address is in one of the networks, each given with or without a prefix length. */
export function networkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = familyOf(address)
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return (address) => list.check(address, familyOf(address))
}

/** isIPv6 is not used: its regular expression takes 10 ms to compile, and most servers never see such an address. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
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
