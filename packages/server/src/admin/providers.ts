/** Administration of other OpenID providers, and of the identities that users have there. */
import { declaredProvider, providersFaults, providerTarget } from '../declarative/declared-provider.ts'
import { newKeyPair, sealClientSecret } from '../store/providers/provider-secrets.ts'
import type { Provider, ProviderSecrets, StoredProvider } from '../store/providers/providers.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, instant, type JsonObject, merged, PROVIDER_SCHEMA, readObject, readProvider } from './request/body.ts'
import { change, changeUsers, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'
import { findUser, knownNames } from './users.ts'

export const providerRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/providers',
    scope: 'Identity/Admin',
    summary: 'Lists the other OpenID providers through which people sign in, ordered by id.',
    reply: '{"items": […]}',
    async run(_call, env) {
      return { body: { items: (await env.stores.providers.list()).map((each) => present(each, env)) } }
    },
  },
  {
    method: 'POST',
    path: '/admin/providers',
    scope: 'Identity/Admin',
    summary: 'Declares a provider. Its button appears on the sign-in pages of all nodes at once.',
    body: PROVIDER_SCHEMA,
    reply: 'The provider, with the addresses to register there.',
    status: 201,
    async run(call, env) {
      const { client_secret: secret, ...body } = readObject(call.body)
      await requireUpgraded(env)
      const stored = await change(env, async (stores, { publish }) => {
        const provider = providerTarget(readProvider(body, await knownNames(stores)))
        if ((await stores.providers.find(provider.id)) !== undefined)
          throw conflict(`The provider ${provider.id} exists already`)
        await put(provider, secretsFor(provider, secret, undefined, env), stores)
        await publish({ kind: 'providers-changed' })
        return find(stores, provider.id)
      })
      record(env, call, { event: 'provider.created', target: stored.id, details: { source: 'admin' } })
      await env.reload('providers')
      return created(present(stored, env), `/admin/providers/${stored.id}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/providers/{provider}',
    scope: 'Identity/Admin',
    summary: 'Shows a provider. Its secret is never shown.',
    reply: 'The provider.',
    async run(call, env) {
      return tagged(present(await find(env.stores, part(call, 'provider')), env))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/providers/{provider}',
    scope: 'Identity/Admin',
    summary: 'Changes a provider (JSON merge patch), for all sign-ins from now on.',
    body: PROVIDER_SCHEMA,
    reply: 'The changed provider.',
    async run(call, env) {
      const id = part(call, 'provider')
      const { client_secret: secret, ...patch } = readObject(call.body)
      if (patch.id !== undefined && patch.id !== id)
        throw badBody([{ path: 'id', text: 'cannot be changed: declare another provider' }])
      // A null removes a member, so that the check of the result would not see it.
      const unknown = Object.keys(patch).filter((member) => !Object.hasOwn(PROVIDER_SCHEMA.properties ?? {}, member))
      if (unknown.length > 0) throw badBody(unknown.map((path) => ({ path, text: 'is unknown' })))
      await requireUpgraded(env)
      const stored = await change(env, async (stores, { publish }) => {
        const before = await find(stores, id)
        requireMatch(call, present(before, env))
        const after = providerTarget(readProvider(replaced(declaredProvider(before), patch), await knownNames(stores)))
        if (after.issuer !== before.issuer)
          throw badBody([
            { path: 'issuer', text: 'cannot be changed: linked identities are of it; declare another provider' },
          ])
        await put(after, secretsFor(after, secret, before, env), stores)
        await publish({ kind: 'providers-changed' })
        return find(stores, id)
      })
      const changed = [...Object.keys(patch), ...(secret === undefined ? [] : ['client_secret'])]
      record(env, call, { event: 'provider.changed', target: id, details: { changed, source: 'admin' } })
      await env.reload('providers')
      return tagged(present(stored, env))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/providers/{provider}',
    scope: 'Identity/Admin',
    summary:
      'Removes a provider with the identities that users have there and the roles that its rules gave; its sessions end.',
    async run(call, env) {
      const id = part(call, 'provider')
      await changeUsers(env, call, async (accounts, stores, { publish }) => {
        checkMatch(call, present(await find(stores, id), env))
        await accounts.endProvider(id)
        await stores.providers.remove(id)
        await publish({ kind: 'providers-changed' })
        accounts.record({ event: 'provider.deleted', target: id, details: { source: 'admin' } })
      })
      await env.reload('providers')
    },
  },
  {
    method: 'POST',
    path: '/admin/providers/{provider}/key',
    scope: 'Identity/Admin',
    summary:
      'Makes a new key pair for private_key_jwt. The provider finds the public key at `jwks_uri`, or it is registered there.',
    reply: 'The provider, with the new public key.',
    async run(call, env) {
      const id = part(call, 'provider')
      const pair = newKeyPair(env.providerKey)
      const stored = await change(env, async (stores, { publish }) => {
        await stores.providers.put(withoutSealed(await find(stores, id)), pair)
        await publish({ kind: 'providers-changed' })
        return find(stores, id)
      })
      const kid = String(pair.publicJwk.kid)
      record(env, call, { event: 'provider.key_created', target: id, details: { kid, source: 'admin' } })
      await env.reload('providers')
      return tagged(present(stored, env))
    },
  },
  {
    method: 'GET',
    path: '/admin/users/{user}/identities',
    scope: 'Identity/Admin',
    summary: 'Lists the identities that a user has at other providers.',
    reply: '{"items": [{"id", "provider", "issuer", "subject", "label", "created_at", "used_at"}]}',
    async run(call, { stores }) {
      const user = await findUser(stores, part(call, 'user'))
      const identities = await stores.identities.listOfUser(user.id)
      const items = identities.map(({ id, provider, issuer, subject, label, createdAt, usedAt }) => ({
        ...{ id, provider, issuer, subject, label },
        created_at: instant(createdAt),
        used_at: instant(usedAt),
      }))
      return { body: { items } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/users/{user}/identities/{identity}',
    scope: 'Identity/Admin',
    summary: 'Unlinks an identity from a user. The sessions that began with it end.',
    async run(call, env) {
      await changeUsers(env, call, async (accounts, stores) => {
        const user = await findUser(stores, part(call, 'user'))
        if ((await accounts.unlinkIdentity(user.id, part(call, 'identity'))) === undefined)
          throw notFound('identity', part(call, 'identity'))
      })
    },
  },
]

/** A list or `require` in a patch replaces that of the provider: merging the values of a claim would surprise. */
function replaced(before: JsonObject, patch: JsonObject): JsonObject {
  const whole = merged(before, patch)
  const { require, trust_mfa: trusted } = patch
  return { ...whole, ...(isGiven(require) && { require }), ...(isGiven(trusted) && { trust_mfa: trusted }) }
}

function isGiven(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

async function put(provider: Provider, secrets: Partial<ProviderSecrets>, stores: Stores): Promise<void> {
  const others = (await stores.providers.list()).filter(({ id }) => id !== provider.id)
  const faults = providersFaults([...others, provider], () => '')
  if (faults.length > 0) throw badBody(faults)
  await stores.providers.put(provider, secrets)
}

/** The secret that was sent, sealed; a key pair where the definition needs one and has none. */
function secretsFor(
  { authMethod }: Provider,
  secret: unknown,
  before: StoredProvider | undefined,
  { providerKey }: AdminEnv,
): Partial<ProviderSecrets> {
  if (secret !== undefined && (typeof secret !== 'string' || secret === '' || secret.length > 1024))
    throw badBody([{ path: 'client_secret', text: 'must be a text of 1 to 1024 characters' }])
  if (authMethod === 'private_key_jwt') {
    if (secret !== undefined) throw badBody([{ path: 'client_secret', text: 'is not used with private_key_jwt' }])
    return before?.sealed.privateKey === undefined ? newKeyPair(providerKey) : {}
  }
  if (typeof secret === 'string')
    return { clientSecret: sealClientSecret(secret, providerKey), secretDigest: undefined }
  if (before?.sealed.clientSecret === undefined)
    throw badBody([{ path: 'client_secret', text: 'is missing; without one, use auth_method private_key_jwt' }])
  return {}
}

async function find({ providers }: Stores, id: string): Promise<StoredProvider> {
  const provider = await providers.find(id)
  if (provider === undefined) throw notFound('provider', id)
  return provider
}

function withoutSealed({ sealed: _, ...provider }: StoredProvider): Provider {
  return provider
}

/** With the addresses that are registered at the provider. */
function present(stored: StoredProvider, { issuer }: AdminEnv): JsonObject {
  const { sealed } = stored
  const base = `${issuer}/external/${stored.id}`
  return {
    ...declaredProvider(stored),
    name: stored.name,
    provision: stored.provision,
    disabled: stored.disabled,
    has_secret: sealed.clientSecret !== undefined,
    redirect_uri: `${base}/callback`,
    backchannel_logout_uri: `${base}/backchannel-logout`,
    post_logout_redirect_uri: `${base}/signed-out`,
    ...(sealed.publicJwk !== undefined && { jwks_uri: `${base}/jwks`, public_key: sealed.publicJwk }),
  }
}
