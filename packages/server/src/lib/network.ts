/** The network that an address is counted as. */
import { isIPv6 } from 'node:net'

/** A host with IPv6 usually has a whole /64: it is counted as one address. */
export function addressNetwork(address: string): string {
  // Avoids the regular expression of `isIPv6`, which takes as long as everything else here.
  if (!address.includes(':') || !isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  if (tail !== undefined) {
    const rest = tail.split(':').filter((group) => group !== '')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
