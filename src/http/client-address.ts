/** The address of the client behind trusted proxies: what they forward is read here, for the application and for upgrades. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'

/** Reads X-Forwarded-For from the right: the first address that no trusted proxy has is the client's. */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = new BlockList()
  for (const proxy of trustedProxies) {
    const [address = '', prefix] = proxy.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    trusted.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  return (request) => {
    const nearest = request.socket.remoteAddress ?? ''
    if (trustedProxies.length === 0) return nearest
    let client = nearest
    for (const hop of forwardedHops(request).reverse()) {
      if (!isTrusted(client)) break
      client = hop
    }
    return client
  }
}

/** For the application, which reads the header by itself: leaves nothing in it but addresses. */
export function tidyForwarded(request: IncomingMessage): void {
  if (request.headers['x-forwarded-for'] !== undefined)
    request.headers['x-forwarded-for'] = forwardedHops(request).join(', ')
}

/** In the order of the header: each proxy adds at the end whom it was called by. */
function forwardedHops({ headers }: IncomingMessage): string[] {
  const header = [headers['x-forwarded-for'] ?? []].flat().join(',')
  const hops = header.split(',').map((hop) => hop.trim())
  return hops.filter((hop) => hop !== '').map(bareAddress)
}

/** Some proxies write a port and brackets too. Whatever else they pass on is no address, and all of it counts as one. */
export function bareAddress(text: string): string {
  if (isIP(text) !== 0) return text
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/:\d+$/, '')
  return isIP(bare) === 0 ? 'unknown' : bare
}
