/** What the settings of the wire mean together with others. */
import { isLoopback } from 'gatehouse-protocol'
import type { Config } from './config.ts'

const DEMO_PORT = 5433

/** Undefined where the port is off. */
export function effectiveWirePort({ demo, wirePort }: Pick<Config, 'demo' | 'wirePort'>): number | undefined {
  if (wirePort === 'auto') return demo ? DEMO_PORT : undefined
  return wirePort === 'off' ? undefined : wirePort
}

/** Without a certificate only loopback. */
export function effectiveWireHost({
  host,
  wireHost,
  tlsCertificate,
}: Pick<Config, 'host' | 'wireHost' | 'tlsCertificate'>): string {
  if (wireHost !== '') return wireHost
  return tlsCertificate === '' && !isLoopback(host) ? '127.0.0.1' : host
}

export function takesWirePasswords({ demo, wirePasswords }: Pick<Config, 'demo' | 'wirePasswords'>): boolean {
  return wirePasswords === 'auto' ? demo : wirePasswords
}
