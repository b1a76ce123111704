/** Registered clients, remembered between requests and forgotten as soon as one changes anywhere. */
import type { Bus } from '../events/bus.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Client } from '../store/client-metadata.ts'
import type { Clients } from '../store/clients.ts'

export interface ClientDirectory {
  /** Disabled ones too: whoever asks decides what they may. */
  find(clientId: string): Promise<Client | undefined>
  /** As long as it takes to find that there is no such client: whoever is refused waits for it, known or not (C-47). */
  takeAsLongAsUnknown(clientId: string): Promise<void>
  /** Origins whose pages may call the endpoints that browsers call. */
  isClientOrigin(origin: string): Promise<boolean>
}

const MOST_REMEMBERED = 10_000
/** For changes that nobody told of. */
const REMEMBERED_MS = 60_000

export function createClientDirectory(
  clients: Pick<Clients, 'find' | 'list' | 'metadata'>,
  bus: Bus,
  clock: Clock,
): ClientDirectory {
  let remembered = new Map<string, Client>()
  let origins: Promise<ReadonlySet<string>> | undefined
  let since = clock()
  bus.subscribe(({ kind }) => {
    if (kind === 'clients-changed') forget()
  })

  return {
    async find(clientId) {
      // From a Basic header anything may come; PostgreSQL takes no U+0000, and no client is called so.
      if (clientId.includes('\0')) return undefined
      if (clock() - since > REMEMBERED_MS) forget()
      const known = remembered.get(clientId)
      if (known !== undefined) return known
      // A change during the read starts a new map; what was read then belongs to the old one.
      const map = remembered
      const found = await clients.find(clientId)
      if (found !== undefined) {
        if (map.size >= MOST_REMEMBERED) map.clear()
        map.set(clientId, found)
      }
      return found
    },
    async takeAsLongAsUnknown(clientId) {
      await clients.metadata(clientId)
    },
    async isClientOrigin(origin) {
      if (clock() - since > REMEMBERED_MS) forget()
      origins ??= readOrigins()
      return (await origins).has(origin)
    },
  }

  function forget(): void {
    remembered = new Map()
    origins = undefined
    since = clock()
  }

  async function readOrigins(): Promise<ReadonlySet<string>> {
    const all = await clients.list()
    return new Set(
      all
        .filter(({ disabled }) => !disabled)
        .flatMap(({ allowedOrigins, redirectUris }) => [
          ...allowedOrigins,
          ...redirectUris.flatMap((uri) => originOf(uri) ?? []),
        ]),
    )
  }
}

/** A page that a client is registered at may fetch its own tokens; private-use schemes have no origin. */
function originOf(uri: string): string | undefined {
  const url = URL.parse(uri)
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined
}
