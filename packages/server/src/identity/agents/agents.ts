/**
 * Agents that publish their description (OAuth Client ID Metadata Document): which are allowed here, their documents, and the clients that come
 * of them. A document is read for an authorization request. From the first consent on a row keeps what it said, so that no other request waits for its host.
 */
import { documentAddressFault, documentHost, isDocumentAddress, Refusal } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { lazily } from '../../lib/once.ts'
import { retryUntilDone } from '../../lib/retry.ts'
import { AGENTS_TABLE, type AllowedAgent, AllowedAgents } from '../../store/agents/allowed-agents.ts'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import { type Client, type ClientMetadata, toClient } from '../../store/clients/client-metadata.ts'
import { upgradePending } from '../../store/cluster/nodes.ts'
import type { Stores } from '../../store/stores.ts'
import { refuse } from '../oauth-error.ts'
import type { AgentDocuments, AgentDocumentsOptions } from './documents.ts'

export interface AgentsOptions extends Omit<AgentDocumentsOptions, 'resolve'> {
  readonly stores: Pick<Stores, 'definitions' | 'clients' | 'nodes'>
  readonly bus: Pick<Bus, 'subscribe' | 'publish'>
  readonly revocations: Pick<Revocations, 'inTransaction'>
  readonly known: () => KnownScopes
  readonly onError: (error: unknown) => void
}

/** What an authorization request names. */
export type NamedAgent =
  | { readonly kind: 'document'; readonly metadata: ClientMetadata; readonly client: Client }
  | { readonly kind: 'not allowed'; readonly host: string }

export type Agents = Awaited<ReturnType<typeof openAgents>>

const RELOAD = { firstMs: 200, longestMs: 5_000 }
const MOST_DOCUMENTS = 1_000

export async function openAgents(options: AgentsOptions) {
  const { stores, bus, known, revocations, onError } = options
  const definitions = stores.definitions<AllowedAgent>(AGENTS_TABLE)
  let allowed = new AllowedAgents([])
  /** Counts the reads: of two that overlap, the later one counts. */
  let reads = 0
  const reload = async (): Promise<void> => {
    const read = ++reads
    const entries = await definitions.list()
    if (read === reads) allowed = new AllowedAgents(entries)
  }
  const closing = new AbortController()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'agents-changed' ? retryUntilDone(reload, RELOAD, onError, closing.signal) : undefined,
  )
  await reload()
  const documents = lazily(async (): Promise<AgentDocuments> => {
    const { createAgentDocuments } = await import('./documents.ts')
    return createAgentDocuments(options)
  })

  return {
    /** Takes over the definitions of the database; later changes are taken over by themselves. */
    reload,

    /**
     * The agent that a client_id names, unless somebody has registered a client under it. Its document is fetched only if it is allowed.
     * Rejects if the document cannot be used.
     */
    async read(clientId: string, address: string): Promise<NamedAgent | undefined> {
      if (!isDocumentAddress(clientId)) return undefined
      const stored = await stores.clients.metadata(clientId)
      if (stored !== undefined && stored.document !== true) return undefined
      const fault = documentAddressFault(clientId)
      if (fault !== undefined) throw refuse('invalid_request', `client_id is no address of a document: ${fault}`)
      if (stored?.disabled === true) throw unknownClient()
      if (allowed.find(clientId) === undefined) return { kind: 'not allowed', host: documentHost(clientId) }
      // Nodes of earlier versions would take it for a client that gets tokens for everything.
      const older = await stores.nodes.older()
      if (older.length > 0) throw upgradePending(older)
      const metadata = await (await documents()).read(clientId, address)
      return { kind: 'document', metadata, client: limit(toClient(metadata, [])) }
    },

    /** The client of a document that was read for a request; disabled if it is not allowed any longer. */
    ofDocument: (metadata: ClientMetadata): Client => limit(toClient(metadata, [])),

    limit,

    /** Who a client_id names, without fetching anything; undefined if it is no address of a document. */
    describe(clientId: string): { readonly host: string; readonly isAllowed: boolean } | undefined {
      if (documentAddressFault(clientId) !== undefined) return undefined
      return { host: documentHost(clientId), isAllowed: allowed.find(clientId) !== undefined }
    },

    /** Keeps what the document says, for requests other than those for authorization. */
    async keep(metadata: ClientMetadata): Promise<void> {
      const { client_id: clientId } = metadata
      const before = await stores.clients.metadata(clientId)
      if (before === undefined && (await stores.clients.listDocuments()).length >= MOST_DOCUMENTS)
        throw new Refusal('agent.too_many', 503, `There are ${MOST_DOCUMENTS} agents with documents already`)
      const rights = known().platformRights()
      await revocations.inTransaction(async (inside, { clients }) => {
        // An operator may have disabled it, or registered another client under this id, while the person decided.
        const stored = await clients.metadata(clientId)
        if (stored !== undefined && (stored.document !== true || stored.disabled === true)) throw unknownClient()
        await clients.put(metadata)
        // One that was removed before may have left a limit.
        if (stored === undefined) await inside.limitClientScopes(clientId, rights)
      })
      await bus.publish({ kind: 'clients-changed', clientId })
    },

    close(): void {
      closing.abort()
      unsubscribe()
    },
  }

  /** With the scopes that its entry allows now. */
  function limit(client: Client): Client {
    const entry = allowed.find(client.id)
    const ofAgents = known().agents?.scopes ?? []
    if (entry === undefined) return { ...client, disabled: true }
    const scopes = entry.scopes === undefined ? ofAgents : entry.scopes.filter((scope) => ofAgents.includes(scope))
    return { ...client, scopes: new Set([...scopes, 'offline_access']) }
  }
}

function unknownClient() {
  return refuse('unauthorized_client', 'The client is unknown or disabled')
}
