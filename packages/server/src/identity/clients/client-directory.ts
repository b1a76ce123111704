/** The clients that are built in, and a cache of the registered ones, cleared on every node as soon as any client changes. */

import type { Clock } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { BUILT_IN_CLIENT_IDS, type BuiltInClients } from '../../store/clients/built-in-clients.ts'
import { type Client, toClient } from '../../store/clients/client-metadata.ts'
import type { Clients } from '../../store/clients/clients.ts'
import type { Agents } from '../agents/agents.ts'

export type ClientDirectory = ReturnType<typeof createClientDirectory>

const MAX_CACHED = 10_000
/** For changes that no event reports. */
const CACHED_MS = 60_000

export function createClientDirectory(
  clients: Pick<Clients, 'find' | 'list' | 'metadata'>,
  bus: Bus,
  clock: Clock,
  builtIn: BuiltInClients,
  /** Undefined where no agents are served. */
  agents?: Pick<Agents, 'limit'>,
) {
  const ownClients = new Map([...builtIn].map(([id, metadata]) => [id, toClient(metadata, [])]))
  let cached = new LruMap<Client>(MAX_CACHED)
  let origins: Promise<ReadonlySet<string>> | undefined
  let lastOrigins: ReadonlySet<string> | undefined
  let since = clock()
  bus.subscribe(({ kind }) => {
    if (kind === 'clients-changed') forget()
  })

  return {
    /** Finds disabled clients too; the caller checks `disabled`. */
    async find(clientId: string): Promise<Client | undefined> {
      // A Basic header may contain U+0000, which PostgreSQL rejects and no client id has.
      if (clientId.includes('\0')) return undefined
      const own = ownClients.get(clientId)
      if (own !== undefined && BUILT_IN_CLIENT_IDS.has(clientId)) return own
      if (isOld()) forget()
      const known = cached.get(clientId)
      if (known !== undefined) return asAllowed(known)
      // A change during the read replaces the map, so that an outdated client does not get into the new one.
      const map = cached
      const found = (await clients.find(clientId)) ?? own
      if (found !== undefined) map.set(clientId, found)
      return found && asAllowed(found)
    },
    /** Only if it was read before, and has not changed since. */
    recent: (clientId: string): Client | undefined => (isOld() ? undefined : cached.get(clientId)),
    /** Takes as long as looking up an unknown client, so that a refusal takes equally long for known and unknown ones (C-47). */
    async spendLookupTime(clientId: string): Promise<void> {
      await clients.metadata(clientId)
    },
    /** Whether pages of this origin may call the endpoints that allow CORS. */
    async isClientOrigin(origin: string): Promise<boolean> {
      if (isOld()) forget()
      origins ??= readOrigins()
      return (await origins).has(origin)
    },
  }

  /** Which agents are allowed may change at any time. */
  function asAllowed(client: Client): Client {
    if (!client.document) return client
    return agents?.limit(client) ?? { ...client, disabled: true }
  }

  /** Also after the clock was set back. */
  function isOld(): boolean {
    return Math.abs(clock() - since) > CACHED_MS
  }

  function forget(): void {
    cached = new LruMap(MAX_CACHED)
    origins = undefined
    since = clock()
  }

  /** While the database is unavailable, the last known origins are used, so that pages can read why they are refused. */
  async function readOrigins(): Promise<ReadonlySet<string>> {
    try {
      const all = await clients.list()
      lastOrigins = new Set(
        all
          .filter(({ disabled }) => !disabled)
          .flatMap(({ allowedOrigins, redirectUris }) => [
            ...allowedOrigins,
            ...redirectUris.flatMap((uri) => pageOrigin(uri) ?? []),
          ]),
      )
      return lastOrigins
    } catch (error) {
      // Do not cache the failure.
      origins = undefined
      if (lastOrigins === undefined) throw error
      return lastOrigins
    }
  }
}

/** The page at a registered redirect URI may fetch tokens itself; private-use schemes have no origin. */
function pageOrigin(uri: string): string | undefined {
  const url = URL.parse(uri)
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined
}
