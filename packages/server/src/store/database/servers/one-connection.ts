/** One connection for a piece of work, closed afterwards. */
import type { Client } from 'pg'
import type { ServerClientConfig } from './client.ts'
import { DatabaseServers } from './servers.ts'

export interface PostgresPlace {
  readonly url: string
  /** Where the latest timeline is that a node of this machine has seen: an old primary is refused. */
  readonly dataFolder: string
  /** Those of the URL, where they are known already. */
  readonly servers?: DatabaseServers | undefined
}

export function openServers({ url, dataFolder, servers }: PostgresPlace): DatabaseServers {
  return servers ?? new DatabaseServers(url, { dataFolder })
}

export async function withConnection<T>(
  place: PostgresPlace,
  config: ServerClientConfig,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const servers = openServers(place)
  const client = servers.createClient(config)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
    if (place.servers === undefined) await servers.close()
  }
}
