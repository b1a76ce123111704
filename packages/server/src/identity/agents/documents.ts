/** The documents of agents: fetched with the guard, cached, limited. Loaded by the first one. */
import { type Clock, documentHost, Refusal } from 'gatehouse-protocol'
import { SlidingWindow } from '../../http/limits/sliding-window.ts'
import type { Resolve } from '../../http/outgoing/guarded-request.ts'
import { addressNetwork } from '../../lib/network.ts'
import type { ClientMetadata } from '../../store/clients/client-metadata.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { DocumentUnavailable, RemoteDocuments } from '../remote-keys/remote-documents.ts'
import { parseAgentDocument } from './parse-document.ts'

export type AgentDocuments = ReturnType<typeof createAgentDocuments>

const MOST_BYTES = 5 * 1024
const MINUTE_MS = 60_000
/** Documents that are not cached. */
const OF_ADDRESS = { requests: 10, seconds: 60 }
const OF_NODE = { requests: 100, seconds: 60 }

export interface AgentDocumentsOptions {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'count'>
  /** Allows documents at private addresses, and with http on loopback. */
  readonly allowPrivate: boolean
  readonly onFailure: (uri: string, reason: string) => void
  readonly resolve?: Resolve | undefined
}

export function createAgentDocuments({ clock, metrics, allowPrivate, onFailure, resolve }: AgentDocumentsOptions) {
  const fetched = new SlidingWindow(clock)
  const documents = new RemoteDocuments<ClientMetadata>({
    clock,
    parse: parseAgentDocument,
    // What an agent no longer publishes must not connect it.
    keptMs: 0,
    failedMs: MINUTE_MS,
    resolve,
    onFetched(uri, fault) {
      const outcome = fault === undefined ? 'fetched' : 'failed'
      metrics.count('gatehouse_remote_documents_total', { document: 'client', outcome })
      if (fault !== undefined) onFailure(uri, fault)
    },
  })
  const options = { allowPrivate, mostBytes: MOST_BYTES }

  return {
    /** Rejects with a refusal that says what is wrong. */
    async read(clientId: string, address: string): Promise<ClientMetadata> {
      if (documents.isDue(clientId, options)) count(address)
      try {
        return await documents.get(clientId, options)
      } catch (error) {
        if (!(error instanceof DocumentUnavailable)) throw error
        throw new Refusal(
          'agent.bad_document',
          400,
          `The document of ${documentHost(clientId)} cannot be used: ${error.reason}`,
        )
      }
    },
  }

  /** Fetches of documents are requests to others, which anybody can cause. */
  function count(address: string): void {
    for (const [key, budget] of [
      [`address ${addressNetwork(address)}`, OF_ADDRESS],
      ['node', OF_NODE],
    ] as const) {
      const { allowed, seconds } = fetched.take(key, budget)
      if (!allowed)
        throw new Refusal('http.too_many_requests', 429, `Too many new agents: try again in ${seconds} s`, {
          headers: { 'retry-after': String(seconds) },
        })
    }
  }
}
