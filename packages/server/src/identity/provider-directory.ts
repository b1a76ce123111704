/** The other providers of this installation, in memory: which there are, and who may sign in without them. */
import type { Bus } from '../events/bus.ts'
import { retryUntilDone } from '../lib/retry.ts'
import type { User } from '../store/accounts/user.ts'
import type { Providers, StoredProvider } from '../store/providers/providers.ts'

/** `break_glass`: only users marked for it sign in without a provider. */
export type LocalSignIn = 'all' | 'break_glass'

export interface ProviderDirectoryOptions {
  readonly providers: Pick<Providers, 'list'>
  readonly bus: Pick<Bus, 'subscribe'>
  readonly localSignIn: LocalSignIn
  readonly onError: (error: unknown) => void
}

export type ProviderDirectory = ReturnType<typeof createProviderDirectory>

const RELOAD = { firstMs: 200, longestMs: 5_000 }

export function createProviderDirectory({ providers, bus, localSignIn, onError }: ProviderDirectoryOptions) {
  let known: readonly StoredProvider[] = []
  let byDomain: ReadonlyMap<string, StoredProvider> = new Map()
  let localMode = localSignIn
  const load = async (): Promise<void> => {
    known = await providers.list()
    byDomain = new Map(
      known
        .filter(({ disabled }) => !disabled)
        .flatMap((each) => each.domains.map((domain) => [domain, each] as const)),
    )
  }
  const closing = new AbortController()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'providers-changed' ? retryUntilDone(load, RELOAD, onError, closing.signal) : undefined,
  )
  return {
    /** Takes over the definitions of the database; later changes are taken over by themselves. */
    load,
    /** Those that are enabled. */
    list: (): readonly StoredProvider[] => known.filter(({ disabled }) => !disabled),
    /** An enabled one. */
    find: (id: string): StoredProvider | undefined => known.find((each) => each.id === id && !each.disabled),
    /** One that may be disabled. */
    findAny: (id: string): StoredProvider | undefined => known.find((each) => each.id === id),
    /** Its name, also while it is disabled. */
    findName: (id: string): string => known.find((each) => each.id === id)?.name ?? id,
    /** The provider of a name such as `ann@example.com`. */
    forName(name: string): StoredProvider | undefined {
      const at = name.lastIndexOf('@')
      return at < 1
        ? undefined
        : byDomain.get(
            name
              .slice(at + 1)
              .trim()
              .toLowerCase(),
          )
    },
    /** Whether any is reached by entering a name. */
    hasDomains: (): boolean => byDomain.size > 0,
    get localSignIn(): LocalSignIn {
      return localMode
    },
    setLocalSignIn(mode: LocalSignIn): void {
      localMode = mode
    },
    /** Whether the user may sign in with a password or a passkey alone. */
    maySignInLocally: ({ breakGlass }: Pick<User, 'breakGlass'>): boolean => localMode === 'all' || breakGlass,
    close(): void {
      closing.abort()
      unsubscribe()
    },
  }
}
