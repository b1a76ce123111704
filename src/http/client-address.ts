/** IP addresses: the client's behind trusted proxies (X-Forwarded-For), and lists of networks. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Reads X-Forwarded-For from the right: the first address that is not a trusted proxy's is the client's. */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return ({ socket }) => socket.remoteAddress ?? ''
  const isTrusted = networkList(trustedProxies)
  return (request) => {
    let client = request.socket.remoteAddress ?? ''
    for (const hop of forwardedHops(request).reverse()) {
      if (!isTrusted(client)) break
      client = hop
    }
    return client
  }
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
function forwardedHops({ headers }: IncomingMessage): string[] {
  const header = [headers['x-forwarded-for'] ?? []].flat().join(',')
  const hops = header.split(',').map((hop) => hop.trim())
  return hops.filter((hop) => hop !== '').map(bareAddress)
}

/** Without the port and brackets that some proxies add. All invalid addresses share one count. */
export function bareAddress(text: string): string {
  if (isIP(text) !== 0) return text
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/:\d+$/, '')
  return isIP(bare) === 0 ? 'unknown' : bare
}
