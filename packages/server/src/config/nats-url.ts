/** The parser of the addresses of NATS. No message shows a part of the password. */
import { BadSetting } from './parsers.ts'

const SCHEMES = ['nats:', 'tls:']

/** Several servers of one cluster are separated by commas. */
export function parseNatsUrl(text: string): string {
  if (text === '') return text
  const servers = text.split(',').map((server) => server.trim())
  for (const [index, server] of servers.entries()) {
    const address = URL.parse(server)
    if (address === null || !SCHEMES.includes(address.protocol) || address.hostname === '' || !isDecodable(address))
      throw new BadSetting(
        'it must look like nats://user:password@host:4222, or tls://… with TLS, with every character of the user and password that is not a letter or digit percent-encoded',
      )
    if (!['', '/'].includes(address.pathname) || address.search !== '' || address.hash !== '')
      throw new BadSetting('nothing may follow the host and port')
    if (index > 0 && address.username !== '')
      throw new BadSetting('the user and password of the first server apply to all; omit them for the others')
  }
  return servers.join(',')
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}
