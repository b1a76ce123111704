/** The APIs and scopes of the installation in memory, read again after every change of their definitions on any node. */
import type { Bus } from '../../events/bus.ts'
import { retryUntilDone } from '../../lib/retry.ts'
import type { Api, Apis } from '../../store/apis/apis.ts'
import { KnownScopes, type KnownScopesOptions } from '../../store/apis/known-scopes.ts'

export interface ApiRegistryOptions extends KnownScopesOptions {
  readonly apis: Pick<Apis, 'list'>
  readonly bus: Bus
  readonly onError: (error: unknown) => void
}

export type ApiRegistry = Awaited<ReturnType<typeof openApiRegistry>>

const RELOAD = { firstMs: 100, longestMs: 5_000 }

export async function openApiRegistry({ apis, bus, onError, ...options }: ApiRegistryOptions) {
  let known = new KnownScopes([], options)
  let reloading: Promise<void> = Promise.resolve()
  const closing = new AbortController()
  await reload()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'apis-changed' ? retryUntilDone(reload, RELOAD, onError, closing.signal) : undefined,
  )
  return {
    /** The definitions as of now; the same object until they change. */
    known: (): KnownScopes => known,
    find: (resource: string): Api | undefined => known.find(resource),
    scopes: (): readonly string[] => known.scopes(),
    has: (scope: string): boolean => known.has(scope),
    isRight: (scope: string): boolean => known.isRight(scope),
    findTarget: (scope: string): string => known.findTarget(scope),
    findApi: (scope: string): Api | undefined => known.findApi(scope),
    text: (scope: string, language: string): string | undefined => known.text(scope, language),
    /** Resolves when this node has the stored definitions; other nodes read them after the event. */
    reload,
    close() {
      closing.abort()
      unsubscribe()
    },
  }

  /** One at a time: an older list must not replace a newer one. */
  function reload(): Promise<void> {
    reloading = reloading
      .catch(() => {})
      .then(async () => {
        known = new KnownScopes(await apis.list(), options)
      })
    return reloading
  }
}
