/** Applies the change of a provider that a declarative file makes, and checks what the providers are together. */
import type { AccountsInside } from '../accounts/accounts.ts'
import type { Fault } from '../schema/check-schema.ts'
import { newKeyPair, sealClientSecret } from '../store/providers/provider-secrets.ts'
import type { ProviderSecrets } from '../store/providers/providers.ts'
import type { Stores } from '../store/stores.ts'
import { providersFaults, providerTarget } from './declared-provider.ts'
import type { Change, CurrentState } from './plan.ts'
import type { Declaration } from './shape.ts'

export async function applyProvider(
  change: Extract<Change, { what: 'provider' }>,
  stores: Stores,
  key: Buffer,
  accounts: AccountsInside,
): Promise<void> {
  const { name: id } = change
  if (change.action !== 'remove') {
    await stores.providers.put(change.target, await secretsFor(change, stores, key))
    return
  }
  await accounts.endProvider(id)
  await stores.providers.remove(id)
}

async function secretsFor(
  { target, secret }: Exclude<Extract<Change, { what: 'provider' }>, { action: 'remove' }>,
  { providers }: Stores,
  key: Buffer,
): Promise<Partial<ProviderSecrets>> {
  if (secret !== undefined) return { clientSecret: sealClientSecret(secret.value, key), secretDigest: secret.digest }
  const needsKey = target.authMethod === 'private_key_jwt'
  return needsKey && (await providers.find(target.id))?.sealed.privateKey === undefined ? newKeyPair(key) : {}
}

/** Faults of the providers of the file together with those that stay in the database. */
export function providerChangeFaults(declaration: Declaration, state: Pick<CurrentState, 'providers'>): Fault[] {
  const { providers, prune } = declaration
  if (providers === undefined) return []
  const declared = providers.map(providerTarget)
  const ids = new Set(declared.map(({ id }) => id))
  const kept = prune === true ? [] : [...state.providers.values()].filter(({ id }) => !ids.has(id))
  const pathOf = (id: string) => `providers[${declared.findIndex((each) => each.id === id)}].`
  return [
    ...providersFaults([...kept, ...declared], pathOf),
    ...providers.flatMap((provider, index): Fault[] => {
      const before = state.providers.get(provider.id)
      const faults: Fault[] = []
      if (before !== undefined && before.issuer !== provider.issuer)
        faults.push({ path: `providers[${index}].issuer`, text: 'cannot be changed: declare another provider' })
      const hasSecret = provider.client_secret !== undefined || before?.sealed.clientSecret !== undefined
      if (provider.auth_method !== 'private_key_jwt' && !hasSecret)
        faults.push({
          path: `providers[${index}].client_secret`,
          text: 'is missing; without one, use auth_method private_key_jwt',
        })
      return faults
    }),
  ]
}
