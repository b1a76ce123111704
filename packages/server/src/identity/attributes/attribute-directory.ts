/** The definitions of attributes in the memory of this node, read again as soon as any of them changes. */
import type { Bus } from '../../events/bus.ts'
import { retryUntilDone } from '../../lib/retry.ts'
import type { AttributeDefinition, Attributes } from '../../store/attributes/attributes.ts'
import { AttributeClaims } from './attribute-claims.ts'

export type AttributeDirectory = Awaited<ReturnType<typeof openAttributeDirectory>>

const RELOAD = { firstMs: 200, longestMs: 5_000 }

export async function openAttributeDirectory(
  attributes: Pick<Attributes, 'list'>,
  bus: Bus,
  onError: (error: unknown) => void,
) {
  let byName: ReadonlyMap<string, AttributeDefinition> = new Map()
  let claims = new AttributeClaims()
  /** Counts the reads: of two that overlap, the later one counts. */
  let reads = 0
  const reload = async (): Promise<void> => {
    const read = ++reads
    const all = await attributes.list()
    if (read !== reads) return
    byName = new Map(all.map((attribute) => [attribute.name, attribute]))
    claims = new AttributeClaims(all)
  }
  const closing = new AbortController()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'attributes-changed' ? retryUntilDone(reload, RELOAD, onError, closing.signal) : undefined,
  )
  await reload()
  return {
    /** By name, in the order of the names. */
    get definitions(): ReadonlyMap<string, AttributeDefinition> {
      return byName
    },
    /** The same object until the definitions change. */
    claims: (): AttributeClaims => claims,
    /** Resolves when the definitions are those of the database. */
    reload,
    close() {
      closing.abort()
      unsubscribe()
    },
  }
}
