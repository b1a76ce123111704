/** The extended query protocol of PostgreSQL, as pg's connection offers it beyond its types; and how a running query is cancelled. */
import type { Connection, PoolClient } from 'pg'
import { asClientInside, openSocket } from '../../../../store/database/servers/pool-client.ts'

export interface ProtocolConnection {
  readonly stream: { cork(): void; uncork(): void; pause(): void; resume(): void; destroy(error?: Error): void }
  parse(query: { name: string; text: string }): void
  bind(config: { statement: string; values: readonly unknown[] }): void
  execute(config: { portal: string; rows: number }): void
  close(message: { type: 'P' | 'S'; name: string }): void
  flush(): void
  sync(): void
}

export type RawRow = (string | null)[]

export function asProtocol(connection: Connection): ProtocolConnection {
  return connection as unknown as ProtocolConnection
}

/** The process id of the client's backend. */
export function backendId(client: PoolClient): number {
  return asClientInside(client).processID
}

export const MAX_CANCEL_MS = 5000

/**
 * Sends a CancelRequest, on a connection of its own as the protocol requires. Until the promise resolves the request may still be on
 * its way, and would cancel the next query of the client.
 */
export function cancelRunning(client: PoolClient): Promise<void> {
  const { processID, secretKey } = asClientInside(client)
  const message = Buffer.alloc(16)
  message.writeInt32BE(16, 0)
  message.writeInt32BE(80_877_102, 4)
  message.writeInt32BE(processID, 8)
  message.writeInt32BE(secretKey, 12)
  return new Promise((resolve) => {
    const socket = openSocket(client)
    socket.on('error', () => socket.destroy())
    // The server closes it once the backend has been signalled.
    socket.on('close', () => resolve())
    socket.setTimeout(MAX_CANCEL_MS, () => socket.destroy())
    socket.resume().write(message)
  })
}
