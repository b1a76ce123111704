/** Other OpenID providers through which people sign in. */
import { mergePatch } from '../lib/merge-patch.ts'
import { shortList } from '../schema/builders.ts'
import type { Provider, ProviderSecrets, StoredProvider } from '../store/providers/providers.ts'
import type { ChangeInside, ItemChange, JsonObject, Place, Resource } from './define-resource.ts'
import {
  type DeclaredProvider,
  declareProvider,
  PROVIDER,
  PROVIDER_PATTERNS,
  providerFaults,
  providersFaults,
  toProvider,
} from './provider-shape.ts'

/** Without `sealed`: as it is declared, before it is stored. */
type ProviderItem = Provider & Partial<Pick<StoredProvider, 'sealed'>>

export const PROVIDERS = {
  noun: 'provider',
  section: 'providers',
  key: 'id',
  scope: 'Identity/Admin',
  list: shortList(PROVIDER, 'Other OpenID providers through which people sign in.'),
  patterns: PROVIDER_PATTERNS,
  toItem: toProvider,
  present: presentProvider,
  declare: declareProvider,
  compare: declareProvider,
  merge: mergeProvider,
  namedScopes: 'none',
  refersTo: ['roles', 'attributes'],
  faults: (provider, { roles, attributes }) => providerFaults(provider, roles, attributes),
  faultsTogether: providersFaults,
  secret: {
    member: 'client_secret',
    body: { type: 'string', description: 'Stored sealed, and never shown.' },
    has: ({ authMethod }) => authMethod === 'client_secret',
    fault(isGiven, { authMethod }, before) {
      if (authMethod === 'private_key_jwt') return isGiven ? 'is not used with private_key_jwt' : undefined
      if (isGiven || before?.sealed?.clientSecret !== undefined) return undefined
      return 'is missing; without one, use auth_method private_key_jwt'
    },
    plan({ id, client_secret: value }, before, { passwordDigest }) {
      if (typeof value !== 'string') return undefined
      const digest = passwordDigest(`provider ${id}`, value)
      return digest === before?.sealed?.secretDigest ? undefined : { value, digest }
    },
  },
  isNewerThanNodes: () => true,
  store: ({ providers }) => providers,
  put: putProvider,
  remove: removeProvider,
  changedEvent: 'providers-changed',
  isExportedIfAny: true,
  routes: {
    list: 'Lists the other OpenID providers through which people sign in, ordered by id.',
    create: 'Declares a provider. Its button appears on the sign-in pages of all nodes at once.',
    show: 'Shows a provider. Its secret is never shown.',
    change: 'Changes a provider (JSON merge patch), for all sign-ins from now on.',
    remove:
      'Removes a provider with the identities that users have there and the roles that its rules gave; its sessions end.',
    instead: 'declare another provider',
    replies: { create: 'The provider, with the addresses to register there.' },
  },
  actions: [
    {
      name: 'key',
      summary:
        'Makes a new key pair for private_key_jwt. The provider finds the public key at `jwks_uri`, or it is registered there.',
      reply: 'The provider, with the new public key.',
      run: replaceKey,
      command: {
        summary: 'Creates a new key pair with which this server authenticates to the provider.',
        examples: ['provider key corp --yes'],
        confirm: (provider) => `Replace the key pair of ${provider}? The provider must know the new public key.`,
      },
    },
  ],
  commands: {
    argument: 'PROVIDER',
    others: { issuer: 'ISSUER', client_id: 'CLIENT_ID' },
    options: {
      '--name': { value: 'NAME', help: 'on buttons and pages (default: the id)' },
      '--domain': {
        member: 'domains',
        value: 'DOMAIN',
        repeatable: true,
        help: 'usernames in this domain are sent there; repeatable',
      },
      '--require': {
        isRead: true,
        value: 'CLAIM=VALUE',
        repeatable: true,
        help: 'a claim must have this value, or another one given for it; repeatable',
      },
      '--provision': {
        value: 'never|invited|create',
        help: 'who gets an account: linked identities only, people with a set-up link, or all who meet --require',
      },
      '--lifetime': { value: 'TIME', help: 'how long a sign-in lasts at most, such as "7 days"' },
      '--logout': { value: 'true|false', help: 'whether a sign-out continues there' },
      '--private': { value: 'true|false', help: 'whether it may have a private address, or use http' },
      '--secret': { isRead: true, help: 'ask for the client secret, or read it from stdin' },
      '--set': {
        isJson: true,
        value: 'MEMBER=JSON',
        repeatable: true,
        help: 'any other member of the definition, such as rules or trust_mfa; repeatable',
      },
      '--key': {
        isRead: true,
        help: 'authenticate with a key pair instead of a secret (private_key_jwt)',
        only: 'add',
      },
      '--default': { resets: true, value: 'MEMBER', help: 'return to the default of a member; repeatable' },
    },
    columns: ['id', 'name', 'issuer', 'provision', 'domains', 'disabled'],
    list: {
      summary: 'Lists the other OpenID providers through which people sign in.',
      examples: ['provider list', 'provider list --json'],
    },
    show: {
      summary: 'Shows a provider, with the addresses to register there.',
      examples: ['provider show corp'],
    },
    add: {
      summary: 'Declares a provider; its button appears on the sign-in page at once.',
      examples: [
        'provider add corp https://id.example.com/realms/main gatehouse --require groups=gatehouse --provision create',
        'provider add google https://accounts.google.com 123.apps.googleusercontent.com --require hd=example.com',
      ],
    },
    set: {
      summary: 'Changes a provider, with effect from the next sign-in.',
      examples: [
        'provider set corp --lifetime "7 days"',
        'provider set corp --secret',
        'provider set corp --default rules',
      ],
    },
    disable: {
      summary: 'Disables a provider: nobody can sign in with it until it is enabled again.',
      examples: ['provider disable corp'],
    },
    enable: { summary: 'Enables a disabled provider.', examples: ['provider enable corp'] },
    remove: {
      summary: 'Removes a provider and the identities that users have there, and ends its sessions.',
      examples: ['provider remove corp --yes'],
      confirm: (provider) => `Remove the provider ${provider}, with the identities that users have there?`,
      done: (provider) => `The provider ${provider} was removed.`,
    },
  },
} as const satisfies Resource<ProviderItem, DeclaredProvider>

/** A list or `require` in a patch replaces that of the provider: merging the values of a claim would surprise. */
function mergeProvider(before: JsonObject, patch: JsonObject): JsonObject {
  const { require, trust_mfa: trusted } = patch
  return {
    ...mergePatch(before, patch),
    ...(isGiven(require) && { require }),
    ...(isGiven(trusted) && { trust_mfa: trusted }),
  }
}

function isGiven(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

async function putProvider(
  { sealed: _, ...provider }: ProviderItem,
  { before, secret, stores, providerKey }: ItemChange<ProviderItem>,
): Promise<undefined> {
  const { newKeyPair, sealClientSecret } = await import('../store/providers/provider-secrets.ts')
  const secrets = (): Partial<ProviderSecrets> => {
    if (secret?.value !== undefined)
      return { clientSecret: sealClientSecret(secret.value, providerKey), secretDigest: secret.digest }
    const needsKey = provider.authMethod === 'private_key_jwt' && before?.sealed?.privateKey === undefined
    return needsKey ? newKeyPair(providerKey) : {}
  }
  await stores.providers.put(provider, secrets())
}

async function replaceKey({ sealed: _, ...provider }: ProviderItem, { stores, providerKey }: ChangeInside) {
  const { newKeyPair } = await import('../store/providers/provider-secrets.ts')
  const pair = newKeyPair(providerKey)
  await stores.providers.put(provider, pair)
  return {
    audit: { event: 'provider.key_created', details: { kid: String(pair.publicJwk.kid), source: 'admin' } },
  } as const
}

/** Its sessions end, and the roles that its rules gave are taken. */
async function removeProvider({ id }: ProviderItem, { accounts, stores }: ChangeInside): Promise<void> {
  await accounts.endProvider(id)
  await stores.providers.remove(id)
}

/** With the addresses that are registered at the provider. */
function presentProvider(provider: ProviderItem, { issuer }: Place): JsonObject {
  const { id, name, provision, disabled, sealed } = provider
  const base = `${issuer}/external/${id}`
  return {
    ...declareProvider(provider),
    name,
    provision,
    disabled,
    has_secret: sealed?.clientSecret !== undefined,
    redirect_uri: `${base}/callback`,
    backchannel_logout_uri: `${base}/backchannel-logout`,
    post_logout_redirect_uri: `${base}/signed-out`,
    ...(sealed?.publicJwk !== undefined && { jwks_uri: `${base}/jwks`, public_key: sealed.publicJwk }),
  }
}
