/** Settings of the wire: tools connect by PostgreSQL's protocol. */
import { BadSetting, parseBoolean, parseInteger, parsePort, parseSeconds, parseText } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const WIRE_SETTINGS = {
  wirePort: setting(
    'auto',
    parseWirePort,
    "Port on which tools connect by PostgreSQL's protocol; 0 picks a free port, off opens none. auto: 5433 in the demonstration, otherwise off.",
  ),
  wireHost: setting(
    '',
    parseText,
    'Address that the wire port listens on; without a TLS certificate it must be on loopback. Empty: the address in host, or loopback where there is no certificate.',
  ),
  wirePasswords: setting(
    'auto',
    parseAutoBoolean,
    'Whether users may sign in to the wire port with their passwords, without a second factor. auto: only in the demonstration.',
  ),
  wireWrites: setting(
    'false',
    parseBoolean,
    'Whether statements on the wire port may write, by the scopes of the caller. Otherwise they are read-only.',
  ),
  wireSession: setting(
    '43200',
    parseSeconds,
    'Maximum seconds that a connection to the wire port lives after a sign-in with a password or a client secret. With an access token it ends with the token.',
  ),
  wireConnections: setting(
    '200',
    parseInteger,
    'Maximum signed-in connections to the wire port of this node; one user has at most 20 of them.',
  ),
  wireIdle: setting(
    '3600',
    parseSeconds,
    'Seconds without a message after which an idle connection to the wire port is closed.',
  ),
} as const satisfies Settings

function parseWirePort(text: string): number | 'auto' | 'off' {
  if (text === 'auto' || text === 'off') return text
  try {
    return parsePort(text)
  } catch (error) {
    if (error instanceof BadSetting) throw new BadSetting(`"${text}" is not auto, off or a port`)
    throw error
  }
}

function parseAutoBoolean(text: string): boolean | 'auto' {
  return text === 'auto' ? text : parseBoolean(text)
}
