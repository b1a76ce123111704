/** The metadata of a provider (OpenID Connect Discovery §3): what we use of it, checked. */
import type { StoredProvider } from '../../../store/providers/providers.ts'
import { DocumentUnavailable } from '../../remote-keys/remote-documents.ts'
import { type IssuerMetadata, MOST_PROVIDER_BYTES, metadataAddress } from '../../remote-keys/remote-keys.ts'
import type { ConnectorEnv } from '../connector.ts'
import { badAnswer, providerFault } from '../faults.ts'

export type OpenIdProvider = StoredProvider<'openid'>

export interface ProviderMetadata {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userinfoEndpoint: string | undefined
  readonly endSessionEndpoint: string | undefined
  readonly jwksUri: string
  readonly authMethods: readonly string[]
  /** RFC 9207 §3: every response carries `iss`. */
  readonly sendsIssuer: boolean
}

/** The part of an issuer that stands for a tenant of Entra. */
const TENANT = '{tenantid}'

export function isTemplate({ issuer }: Pick<OpenIdProvider, 'issuer'>): boolean {
  return issuer.includes(TENANT)
}

/** The issuers that the provider may have: of a template, one for each listed tenant. */
export function listIssuers({ issuer, tenants }: Pick<OpenIdProvider, 'issuer' | 'tenants'>): readonly string[] {
  return issuer.includes(TENANT) ? tenants.map((tenant) => issuer.replace(TENANT, tenant)) : [issuer]
}

export function fetchOptions(provider: Pick<OpenIdProvider, 'private'>) {
  return { allowPrivate: provider.private, mostBytes: MOST_PROVIDER_BYTES }
}

/** Only sign-ins through this provider wait for it. */
export async function readMetadata(
  provider: OpenIdProvider,
  env: Pick<ConnectorEnv, 'remoteKeys'>,
): Promise<ProviderMetadata> {
  const keys = await env.remoteKeys()
  // Entra publishes the metadata of all tenants below "organizations", with the template as their issuer.
  const address = metadataAddress(provider.issuer.replace(TENANT, 'organizations'))
  const found = await keys.metadata(address, fetchOptions(provider)).catch((error: unknown) => {
    if (error instanceof DocumentUnavailable) throw providerFault('provider.unavailable', error.message)
    throw error
  })
  // Discovery §4.3: by character, with or without a slash, in this case.
  if (found.issuer !== provider.issuer)
    throw badAnswer(`The metadata are of the issuer ${found.issuer}, not of ${provider.issuer}`)
  return checked(found, provider)
}

function checked({ document, jwksUri }: IssuerMetadata, provider: OpenIdProvider): ProviderMetadata {
  const authorizationEndpoint = address('authorization_endpoint')
  const tokenEndpoint = address('token_endpoint')
  if (authorizationEndpoint === undefined || tokenEndpoint === undefined)
    throw badAnswer('The metadata lack authorization_endpoint or token_endpoint')
  const methods = document.token_endpoint_auth_methods_supported
  return {
    authorizationEndpoint,
    tokenEndpoint,
    userinfoEndpoint: address('userinfo_endpoint'),
    endSessionEndpoint: address('end_session_endpoint'),
    jwksUri,
    authMethods: Array.isArray(methods) ? methods.map(String) : ['client_secret_basic'],
    sendsIssuer: document.authorization_response_iss_parameter_supported === true,
  }

  function address(name: string): string | undefined {
    const value = Object.hasOwn(document, name) ? document[name] : undefined
    if (value === undefined) return undefined
    const url = typeof value === 'string' ? URL.parse(value) : null
    const isFit = url !== null && (url.protocol === 'https:' || (provider.private && url.protocol === 'http:'))
    if (!isFit || url.username !== '' || url.hash !== '') throw badAnswer(`The metadata have a bad ${name}`)
    return url.href
  }
}
