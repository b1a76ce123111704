/** Checks the providers through which people sign in: whether their metadata can be read, and which address they must know. */
import type { Config } from '../../config/config.ts'
import { chooseIssuer } from '../../config/issuer.ts'
import type { Database } from '../../store/database/database.ts'
import { createStores } from '../../store/stores.ts'
import { errorReason, type Finding, fault, ok } from './finding.ts'

export async function checkProviders(database: Database, config: Config, now: number): Promise<readonly Finding[]> {
  const all = await createStores(database, () => now).providers.list()
  const providers = all.filter(({ disabled }) => !disabled)
  if (providers.length === 0) return []
  const { checkProvider } = await import('../../server/provider-check.ts')
  return Promise.all(
    providers.map(async (provider) => {
      const { id } = provider
      const callback = `${chooseIssuer(config)}/external/${encodeURIComponent(id)}/callback`
      const found = await checkProvider(provider)
      if (found === undefined)
        return ok('provider', `The provider ${id} can be used; its redirect URI for this server is ${callback}`)
      const { error, advice } = found
      const reason = errorReason(error instanceof Error && error.cause instanceof Error ? error.cause : error)
      return fault('provider.unusable', `The provider ${id} cannot be used: ${reason}`, advice)
    }),
  )
}
