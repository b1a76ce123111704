/** The address of the client behind trusted proxies, for requests that do not pass through the HTTP application. */
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
    const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    const hops = [...forwarded.map((hop) => hop.trim()), nearest].reverse()
    let client = nearest
    for (const hop of hops) {
      if (isIP(hop) === 0) break
      client = hop
      if (!isTrusted(hop)) break
    }
    return client
  }
}
