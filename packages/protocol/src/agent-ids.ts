/** How agents are named: by the address of their document, or together by its host. */
import { isLoopback, webAddressFault } from './addresses.ts'

export const LONGEST_AGENT_ID = 512

/** Whether a client_id could be the address of a document. */
export function isDocumentAddress(clientId: string): boolean {
  return /^https?:\/\//.test(clientId)
}

/**
 * What is wrong with a client_id as the address of a document: it is https with a path, and is compared as it is written, so that it is
 * written in one way. http is for tests, on loopback.
 */
export function documentAddressFault(clientId: string): string | undefined {
  if (clientId.length > LONGEST_AGENT_ID) return `at most ${LONGEST_AGENT_ID} characters are allowed`
  const fault = webAddressFault(clientId)
  if (fault !== undefined) return fault
  const { href, pathname, hostname } = new URL(clientId)
  if (clientId.startsWith('http:') && !isLoopback(hostname)) return 'an https URL is required'
  if (clientId.includes('?')) return 'a query (?…) is not allowed'
  if (pathname === '/') return 'a path is required'
  if (/%2f|%5c|\/\//i.test(pathname)) return 'encoded and empty segments are not allowed'
  return href === clientId ? undefined : `write it as ${href}`
}

/** The host of such an address, with its port unless that is 443. */
export function documentHost(clientId: string): string {
  const { protocol, hostname, host, port } = new URL(clientId)
  return protocol === 'https:' ? host : `${hostname}:${port === '' ? '80' : port}`
}

/** What is wrong with the name of agents that are allowed: a host, the whole address of a document, or `*`. */
export function allowedAgentFault(text: string): string | undefined {
  if (text === '*') return undefined
  if (text.includes('/')) return documentAddressFault(text)
  const address = `https://${text}/agent`
  if (/^\.|\.$/.test(text) || !URL.canParse(address) || webAddressFault(address) !== undefined)
    return 'must be a host such as claude.ai, a whole client_id, or *'
  const host = documentHost(address)
  return host === text ? undefined : `write it as ${host}`
}
