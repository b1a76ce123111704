/** What pg's connection offers to a query beyond what its types say, and how a running one is cancelled. */
import { connect } from 'node:net'
import type { Connection, PoolClient } from 'pg'
import { Prepared } from './prepared.ts'

export interface Wire {
  readonly stream: { cork(): void; uncork(): void; destroy(): void }
  parse(query: { name: string; text: string }): void
  bind(config: { statement: string; values: readonly unknown[] }): void
  execute(config: { portal: string; rows: number }): void
  close(message: { type: 'P' | 'S'; name: string }): void
  flush(): void
  sync(): void
}

export function wireOf(connection: Connection): Wire {
  return connection as unknown as Wire
}

const PREPARED = new WeakMap<Wire, Prepared>()

/** The statements that are prepared on the connection. */
export function preparedOn(wire: Wire): Prepared {
  let prepared = PREPARED.get(wire)
  if (prepared === undefined) {
    prepared = new Prepared(wire)
    PREPARED.set(wire, prepared)
  }
  return prepared
}

/** Breaks a connection whose server does not answer: whatever waits on it fails at once. */
export function breakOff(client: PoolClient): void {
  const { connection } = client as unknown as { connection: Wire }
  connection.stream.destroy()
}

export const LONGEST_CANCEL_MS = 5000

/**
 * Asks the server, on a connection of its own as the protocol wants, to stop what the client runs. Until the promise resolves the
 * request may still be on its way: whoever used the client next would be stopped instead.
 */
export function cancelRunning(client: PoolClient): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as {
    host: string
    port: number
    processID: number
    secretKey: number
  }
  const message = Buffer.alloc(16)
  message.writeInt32BE(16, 0)
  message.writeInt32BE(80_877_102, 4)
  message.writeInt32BE(processID, 8)
  message.writeInt32BE(secretKey, 12)
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    socket.on('error', () => socket.destroy())
    // The server closes it when the signal has been sent.
    socket.on('close', () => resolve())
    socket.setTimeout(LONGEST_CANCEL_MS, () => socket.destroy())
    socket.resume().write(message)
  })
}
