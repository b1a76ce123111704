/** An OpenID provider as it is declared: how this server reaches it, and what counts there as two factors. */
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { OpenIdSettings, Provider } from '../store/providers/providers.ts'

export const TENANT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const claimValues = (description: string) => ({
  ...shortList(text({ minLength: 1, maxLength: 512 }), description),
  minItems: 1,
})

const SECRET = either(
  text({ minLength: 1, maxLength: 1024, description: 'The value itself.' }),
  closed(['env'], { env: text({ minLength: 1, description: 'The name of an environment variable with the value.' }) }),
  closed(['file'], {
    file: text({ minLength: 1, description: 'Path of a file with the value, relative to this file.' }),
  }),
)

/** Members of a definition, beside those of every provider. */
export const OPENID = {
  issuer: text({
    minLength: 1,
    maxLength: 512,
    description:
      'Exactly as the provider writes it; its metadata are below it. With {tenantid} for Entra, which needs tenants.',
  }),
  client_id: words('As the provider has registered this server.'),
  client_secret: SECRET,
  auth_method: oneOf(
    ['client_secret', 'private_key_jwt'],
    'How this server authenticates there: with client_secret, or with a key pair of its own. Default: client_secret.',
  ),
  assertion_audience: words('The audience of its assertions with private_key_jwt. Default: the issuer.'),
  scopes: claimValues('The scopes that are requested. Default: openid, profile, email.'),
  trust_mfa: {
    ...closed([], { amr: claimValues('Values of amr.'), acr: claimValues('Values of acr.') }),
    description: 'What counts as two factors. Default: nothing; a second factor is then asked for here.',
  },
  private: flag('Allow private and loopback addresses, and http. Default: false.'),
  tenants: shortList(text({ pattern: TENANT_ID.source }), 'The ids of the tenants of Entra whose users may sign in.'),
}

const WHOLE = closed(['issuer', 'client_id'], OPENID)
type DeclaredOpenId = XStatic<typeof WHOLE>

const TEMPLATE = '{tenantid}'

export function openIdFaults(provider: DeclaredOpenId): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, reason: string | undefined) =>
    reason !== undefined && faults.push({ path, text: reason })
  fault('issuer', issuerFault(provider))
  const isTemplate = provider.issuer.includes(TEMPLATE)
  const tenants = provider.tenants?.length ?? 0
  if (isTemplate && tenants === 0) fault('tenants', 'are needed: without them any tenant of Entra could sign in')
  if (!isTemplate && tenants > 0) fault('tenants', `need an issuer with ${TEMPLATE}`)
  if (provider.auth_method !== 'private_key_jwt' && provider.assertion_audience !== undefined)
    fault('assertion_audience', 'needs auth_method private_key_jwt')
  if (provider.scopes !== undefined && !provider.scopes.includes('openid')) fault('scopes', 'must contain openid')
  for (const [index, scope] of (provider.scopes ?? []).entries())
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) fault(`scopes[${index}]`, 'is not a scope')
  return faults
}

/** OpenID Connect Discovery §3. */
function issuerFault({ issuer, private: isPrivate }: DeclaredOpenId): string | undefined {
  const url = URL.parse(issuer.replace(TEMPLATE, 'tenant'))
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return 'must be a URL that begins with https://'
  if (url.protocol === 'http:' && isPrivate !== true)
    return 'must begin with https://; only a private provider may use http'
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(issuer)) return 'must have no query and no fragment'
  if (url.username !== '' || url.password !== '') return 'must contain no password'
  return undefined
}

/** An identity is an issuer and a subject: these are the issuers of a provider. */
export function listOpenIdIssuers({ issuer, tenants }: OpenIdSettings): readonly string[] {
  return [issuer, ...tenants.map((tenant) => issuer.replace(TEMPLATE, tenant))]
}

const DEFAULT_SCOPES = ['openid', 'profile', 'email']

export function toOpenId(declared: DeclaredOpenId): { readonly kind: 'openid' } & OpenIdSettings {
  return {
    kind: 'openid',
    issuer: declared.issuer,
    clientId: declared.client_id,
    authMethod: declared.auth_method ?? 'client_secret',
    assertionAudience: declared.assertion_audience,
    scopes: declared.scopes ?? DEFAULT_SCOPES,
    trustMfa: { amr: declared.trust_mfa?.amr ?? [], acr: declared.trust_mfa?.acr ?? [] },
    private: declared.private ?? false,
    tenants: declared.tenants ?? [],
  }
}

/** Each with whether it has its default. */
export function openIdMembers(provider: Provider<'openid'>): [name: string, value: unknown, isDefault: boolean][] {
  const { trustMfa } = provider
  return [
    ['issuer', provider.issuer, false],
    ['client_id', provider.clientId, false],
    ['auth_method', provider.authMethod, provider.authMethod === 'client_secret'],
    ['assertion_audience', provider.assertionAudience, provider.assertionAudience === undefined],
    ['scopes', provider.scopes, provider.scopes.join(' ') === DEFAULT_SCOPES.join(' ')],
    [
      'trust_mfa',
      { ...(trustMfa.amr.length > 0 && { amr: trustMfa.amr }), ...(trustMfa.acr.length > 0 && { acr: trustMfa.acr }) },
      trustMfa.amr.length === 0 && trustMfa.acr.length === 0,
    ],
    ['private', provider.private, !provider.private],
    ['tenants', provider.tenants, provider.tenants.length === 0],
  ]
}
