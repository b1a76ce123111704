/** What a document says about its agent, as the metadata of a client: only what agents can be. */
import { isLoopback, redirectUriFault } from 'gatehouse-protocol'
import type { AuthMethod, ClientMetadata, KeySet } from '../../store/clients/client-metadata.ts'
import { FOREIGN_ALGS, isObject, readKey } from '../../store/keys/foreign-keys.ts'

const MOST_REDIRECTS = 20
const LONGEST_REDIRECT = 2048
const LONGEST_NAME = 100
const MOST_KEYS = 20

/** Throws with a reason. */
export function parseAgentDocument(value: unknown, clientId: string): ClientMetadata {
  if (!isObject(value)) throw new Error('it is not a JSON object')
  if (value.client_id !== clientId) throw new Error('its client_id is not its own address')
  const redirectUris = readRedirects(value.redirect_uris)
  refuseOthers('grant_types', value.grant_types, 'authorization_code')
  refuseOthers('response_types', value.response_types, 'code')
  return {
    client_id: clientId,
    client_name: readName(value.client_name),
    application_type: redirectUris.some((uri) => uri.startsWith('http:')) ? 'native' : 'web',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    code_challenge_methods: ['S256'],
    require_pkce: true,
    ...readAuthentication(value),
    ...(value.dpop_bound_access_tokens === true && { dpop_bound_access_tokens: true }),
    agent: true,
    document: true,
  }
}

/** Names stand on a page where people decide: nothing in them may hide or turn text. */
function readName(name: unknown): string {
  if (typeof name !== 'string' || name.trim() === '') throw new Error('client_name is missing')
  if (name.length > LONGEST_NAME) throw new Error(`client_name is longer than ${LONGEST_NAME} characters`)
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) throw new Error('client_name has control characters')
  return name.trim()
}

/** https, or http on loopback with any port (RFC 8252 §7.3). */
function readRedirects(uris: unknown): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0) throw new Error('redirect_uris is missing')
  if (uris.length > MOST_REDIRECTS) throw new Error(`redirect_uris has more than ${MOST_REDIRECTS} entries`)
  return uris.map((uri: unknown) => {
    if (typeof uri !== 'string' || uri.length > LONGEST_REDIRECT)
      throw new Error('redirect_uris has what is no address')
    const fault = redirectUriFault(uri) ?? otherSchemeFault(uri)
    if (fault !== undefined) throw new Error(`redirect_uris: ${fault}`)
    return uri
  })
}

function otherSchemeFault(uri: string): string | undefined {
  const { protocol, hostname } = new URL(uri)
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined
  return 'https, or http on loopback, is required'
}

/** What a document lists has to include what agents use; whatever else it lists, its agent does not get. */
function refuseOthers(member: string, listed: unknown, needed: string): void {
  if (listed !== undefined && !(Array.isArray(listed) && listed.includes(needed)))
    throw new Error(`${member} lacks ${needed}`)
}

const METHODS: readonly AuthMethod[] = ['none', 'private_key_jwt']

/** There is no secret that a document could have. */
function readAuthentication(value: Readonly<Record<string, unknown>>): Partial<ClientMetadata> {
  if (value.client_secret !== undefined) throw new Error('it has a client_secret')
  const { token_endpoint_auth_method: given = 'none', token_endpoint_auth_signing_alg: alg } = value
  const method = METHODS.find((name) => name === given)
  if (method === undefined) throw new Error('token_endpoint_auth_method is neither none nor private_key_jwt')
  if (method === 'none') return { token_endpoint_auth_method: method }
  const known = FOREIGN_ALGS.find((name) => name === alg)
  if (alg !== undefined && known === undefined) throw new Error('token_endpoint_auth_signing_alg is not supported')
  return {
    token_endpoint_auth_method: method,
    ...(known && { token_endpoint_auth_signing_alg: known }),
    ...readKeys(value),
  }
}

function readKeys({
  jwks,
  jwks_uri: uri,
}: Readonly<Record<string, unknown>>): Pick<ClientMetadata, 'jwks' | 'jwks_uri'> {
  if (uri !== undefined) {
    if (jwks !== undefined) throw new Error('it has both jwks and jwks_uri')
    if (typeof uri !== 'string' || redirectUriFault(uri) !== undefined || !/^https?:/.test(uri))
      throw new Error('jwks_uri is no https address')
    return { jwks_uri: uri }
  }
  const keys = isObject(jwks) ? jwks.keys : undefined
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MOST_KEYS)
    throw new Error('private_key_jwt needs jwks or jwks_uri')
  return { jwks: { keys: keys.map(readPublicKey) } }
}

function readPublicKey(key: unknown): KeySet['keys'][number] {
  if (!isObject(key) || 'd' in key || 'k' in key) throw new Error('jwks has what is no public key')
  const read = readKey(key)
  if (!('key' in read)) throw new Error('jwks has a key that is not supported')
  return key
}
