/** Distinguishes public IP addresses from private and special ones (RFC 6890). */
import { BlockList, isIPv6 } from 'node:net'

const PRIVATE_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** IPv6 addresses that embed an IPv4 address (mapped, translated, 6to4, Teredo) count as private: no client needs them. */
const PRIVATE_IPV6 = [
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

/** One list per family: a rule for mapped addresses would otherwise match all of IPv4. */
const blocked = { ipv4: createBlockList(PRIVATE_IPV4, 'ipv4'), ipv6: createBlockList(PRIVATE_IPV6, 'ipv6') }

export function isPublicAddress(address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  return !blocked[family].check(address, family)
}

function createBlockList(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', prefix] = subnet.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}
