/** Which agents are allowed: by the address of their document, by its host, or all. The most precise entry counts. */
import { documentAddressFault, documentHost } from 'gatehouse-protocol'

export interface AllowedAgent {
  /** A host with its port unless that is 443, one whole client_id, or `*`. */
  readonly allow: string
  /** What they may ask for; undefined: all that agents can get. */
  readonly scopes?: readonly string[] | undefined
}

export const AGENTS_TABLE = { table: 'agents', key: 'allow' } as const

export class AllowedAgents {
  readonly #entries: ReadonlyMap<string, AllowedAgent>

  constructor(entries: Iterable<AllowedAgent>) {
    this.#entries = new Map(Array.from(entries, (entry) => [entry.allow, entry]))
  }

  /** Undefined if it is not allowed, or no address of a document. */
  find(clientId: string): AllowedAgent | undefined {
    if (documentAddressFault(clientId) !== undefined) return undefined
    return this.#entries.get(clientId) ?? this.#entries.get(documentHost(clientId)) ?? this.#entries.get('*')
  }
}
