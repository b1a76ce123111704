/** The answer of a provider, checked: who authenticated there, with the claims that we read. */
import type { FormParameters } from '../../http/request/body.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import type { Claims } from '../tokens/jwt.ts'
import { deriveSecrets } from './authorization-request.ts'
import { claimsRead, leftOut, meetsRequire, topLevel } from './claims.ts'
import type { ProvidersEnv } from './env.ts'
import { badAnswer, providerFault } from './faults.ts'
import { checkIdToken, type IdToken } from './id-token.ts'
import { listIssuers, type ProviderMetadata, readMetadata } from './metadata.ts'
import { readUserinfo, redeemCode } from './token-request.ts'

export interface Proof {
  readonly provider: StoredProvider
  readonly metadata: ProviderMetadata
  readonly idToken: IdToken
  /** As it was sent, for a sign-out there. */
  readonly rawIdToken: string
  /** Of the ID token and, where it lacks some that are needed, of userinfo. */
  readonly claims: Claims
}

/** Claims that describe a new user. */
const DESCRIBING = ['name', 'email']

export async function prove(
  answer: FormParameters,
  state: string,
  maxAge: number | undefined,
  provider: StoredProvider,
  env: ProvidersEnv,
): Promise<Proof> {
  const metadata = await readMetadata(provider, env)
  const code = readAnswer(answer, provider, metadata)
  const tokens = await redeemCode(code, state, provider, metadata, env)
  const { nonce } = deriveSecrets(state, env)
  const expected = { nonce, accessToken: tokens.accessToken, maxAge }
  const idToken = await checkIdToken(tokens.idToken, provider, metadata, expected, env)
  const missing = neededClaims(provider).filter((name) => !Object.hasOwn(idToken.claims, name))
  const { userinfoEndpoint } = metadata
  const more =
    missing.length > 0 && userinfoEndpoint !== undefined && tokens.accessToken !== undefined
      ? await readUserinfo(tokens.accessToken, idToken.subject, userinfoEndpoint, provider, env)
      : {}
  return { provider, metadata, idToken, rawIdToken: tokens.idToken, claims: { ...more, ...idToken.claims } }
}

/** RFC 6749 §4.1.2, RFC 9207 §2.4. The state has been checked. */
function readAnswer(answer: FormParameters, provider: StoredProvider, { sendsIssuer }: ProviderMetadata): string {
  if (answer.repeated.size > 0) throw badAnswer(`Parameters occur twice: ${[...answer.repeated].join(', ')}`)
  const issuer = answer.get('iss')
  if (issuer === undefined ? sendsIssuer : !listIssuers(provider).includes(issuer))
    throw badAnswer(issuer === undefined ? 'The answer lacks iss' : `The answer is of the issuer ${issuer}`)
  const error = answer.get('error')
  if (error !== undefined) throw toProviderFault(error, answer.get('error_description'))
  const code = answer.get('code')
  if (code === undefined) throw badAnswer('The answer has no code')
  return code
}

const UNAVAILABLE = ['server_error', 'temporarily_unavailable']
/** Our request is at fault, not the person. */
const WRONG_REQUEST = [
  'invalid_request',
  'unauthorized_client',
  'unsupported_response_type',
  'invalid_scope',
  'request_not_supported',
  'registration_not_supported',
]

function toProviderFault(error: string, description = '') {
  const reason = `The provider answered ${error}: ${description}`.slice(0, 500)
  if (UNAVAILABLE.includes(error)) return providerFault('provider.unavailable', reason)
  return WRONG_REQUEST.includes(error) ? badAnswer(reason) : providerFault('provider.refused', reason)
}

function neededClaims(provider: StoredProvider): string[] {
  const describing = provider.provision === 'create' ? [topLevel(provider.usernameClaim), ...DESCRIBING] : []
  return [...claimsRead(provider), ...describing]
}

/** At every sign-in: nothing that is read was left out, and `require` is met. */
export function checkAllowed({ provider, claims }: Proof): void {
  const absent = leftOut(claims)
  const unread = claimsRead(provider).filter((name) => absent.has(name))
  if (unread.length > 0) throw providerFault('identity.groups_missing', `The provider left out ${unread.join(', ')}`)
  if (!meetsRequire(provider, claims))
    throw providerFault('identity.not_allowed', 'A claim of require has no listed value')
}
