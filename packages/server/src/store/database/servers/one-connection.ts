/** One connection for a piece of work, closed afterwards. */
import type { Client } from 'pg'
import type { ServerClientConfig } from './client.ts'
import { DatabaseServers } from './servers.ts'

export interface PostgresPlace {
  readonly url: string
  /** Those of the URL, where they are known already. */
  readonly servers?: DatabaseServers | undefined
}

export function serversOf({ url, servers }: PostgresPlace): DatabaseServers {
  return servers ?? new DatabaseServers(url)
}

export async function withConnection<T>(
  place: PostgresPlace,
  config: ServerClientConfig,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const servers = serversOf(place)
  const client = servers.createClient(config)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
    if (place.servers === undefined) await servers.close()
  }
}
