/** The reply that a connection has begun or must send next. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { nodeHttp } from './node-http.ts'

/** Node keeps it in a property that its type declarations lack. */
export function pendingReply(socket: Duplex): ServerResponse | undefined {
  if (!('_httpMessage' in socket)) return undefined
  const { _httpMessage: message } = socket
  return message instanceof nodeHttp.ServerResponse ? message : undefined
}
