/** What pg's client has beyond its types: its connection, and the server that it is connected to. */
import { connect, type Socket } from 'node:net'
import type { PoolClient } from 'pg'
import { StatementTimeout } from '../../../lib/unavailable.ts'

interface ClientInside {
  readonly connection: { readonly stream: { destroy(error?: Error): void } }
  readonly host: string
  readonly port: number
  readonly processID: number
  readonly secretKey: number
}

export function asClientInside(client: PoolClient): ClientInside {
  return client as unknown as ClientInside
}

/** Closes the connection to a server that has not answered for this long: everything that waits on it fails. */
export function destroyConnection(client: PoolClient, milliseconds: number): void {
  asClientInside(client).connection.stream.destroy(new StatementTimeout(milliseconds))
}

/** Another socket to the server of the client, on which nothing has been sent yet. */
export function openSocket(client: PoolClient): Socket {
  const { host, port } = asClientInside(client)
  return host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
}
