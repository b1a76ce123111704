/** Which addresses webhooks may have. */
import { isIP } from 'node:net'
import { calledAddressFault, secureAddressFault } from 'gatehouse-protocol'
import { isPublicAddress } from '../lib/public-address.ts'

/** A public https address, as back-channel logout demands; names are looked up at each delivery. */
export function webhookAddressFault(url: string, isPrivate: boolean): string | undefined {
  if (isPrivate) return calledAddressFault(url)
  const fault = secureAddressFault(url)
  if (fault !== undefined) return fault
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && !isPublicAddress(host) ? 'the address is private' : undefined
}
