/** The address of the server that a command talks to. */
import { shown } from '../../config/parsers.ts'
import { UsageError } from '../errors.ts'

/** The base address of a server, from its own address or that of its streaming service. */
export function serverAddress(given = process.env.GATEHOUSE_SERVER ?? ''): string {
  const text = given === '' ? 'http://localhost:5080' : given
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol))
    throw new UsageError(`${shown(text)} is not a server address; write it like http://localhost:5080`)
  return `${url.protocol.replace('ws', 'http')}//${url.host}${url.pathname.replace(/(\/platform)?\/*$/i, '')}`
}
