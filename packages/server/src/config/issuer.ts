/** The issuer of a server, from its settings. */
import { isIP } from 'node:net'
import type { Config } from './config.ts'

/** The issuer in tokens, pages and banners. The Host header of a request is never trusted. */
export function chooseIssuer(config: Config, port: number = config.port): string {
  if (config.issuer !== '') return config.issuer
  const scheme = config.tlsCertificate === '' ? 'http' : 'https'
  const host =
    config.host === '0.0.0.0' || config.host === '::' || config.host === '127.0.0.1'
      ? 'localhost'
      : bracketed(config.host)
  return `${scheme}://${host}:${port}`
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}
