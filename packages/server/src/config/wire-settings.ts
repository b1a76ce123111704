/** Settings of the wire: tools connect by PostgreSQL's protocol. */
import { isLoopback } from 'gatehouse-protocol'
import type { Config } from './config.ts'
import { BadSetting, parseBoolean, parseInteger, parsePort, parseSeconds, parseText } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

const DEMO_PORT = 5433

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

type WireConfig = Pick<Config, 'demo' | 'wirePort' | 'wirePasswords'>

/** Undefined where the port is off. */
export function wirePortOf({ demo, wirePort }: Pick<WireConfig, 'demo' | 'wirePort'>): number | undefined {
  if (wirePort === 'auto') return demo ? DEMO_PORT : undefined
  return wirePort === 'off' ? undefined : wirePort
}

/** Without a certificate only loopback. */
export function wireHostOf({
  host,
  wireHost,
  tlsCertificate,
}: Pick<Config, 'host' | 'wireHost' | 'tlsCertificate'>): string {
  if (wireHost !== '') return wireHost
  return tlsCertificate === '' && !isLoopback(host) ? '127.0.0.1' : host
}

export function wirePasswordsOf({ demo, wirePasswords }: Pick<WireConfig, 'demo' | 'wirePasswords'>): boolean {
  return wirePasswords === 'auto' ? demo : wirePasswords
}

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
