/** E-mail addresses that we send to and from: an ASCII dot-atom at a domain of A-labels (RFC 5321 §4.1.2, RFC 5890 §2.3.2.1). */
import { domainToUnicode } from 'node:url'

const LOCAL = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i
const LONGEST_LOCAL = 64
const LONGEST_ADDRESS = 254
const LONGEST_DOMAIN = 253

/** What is said to somebody who has given another one. */
export const ADDRESS_FORM = 'must be an address such as name@example.com, in ASCII'

/**
 * Whether the text is one. No quoted local parts, comments, source routes, address literals or text outside ASCII: what programs on the
 * way read in different ways is not mailed to.
 */
export function isMailAddress(text: string): boolean {
  if (text.length > LONGEST_ADDRESS) return false
  const [local = '', domain = '', ...rest] = text.split('@')
  return rest.length === 0 && local.length <= LONGEST_LOCAL && LOCAL.test(local) && isDomain(domain)
}

function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  if (domain.length > LONGEST_DOMAIN || !labels.every(isLabel)) return false
  // Otherwise it may be an IPv4 address.
  return !/^\d+$/.test(labels.at(-1) ?? '')
}

function isLabel(label: string): boolean {
  if (!LABEL.test(label)) return false
  if (!/^..--/.test(label)) return true
  // What no A-label stands for is left as it is, or becomes empty.
  return /^xn--/i.test(label) && /[^\x00-\x7f]/.test(domainToUnicode(label))
}

/** Names of mailboxes are compared case-insensitively, as almost all servers do. */
export function mailboxKey(address: string): string {
  return address.toLowerCase()
}
