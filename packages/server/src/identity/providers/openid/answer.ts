/** The answer to an authorization request, checked: who authenticated there, with the claims that we read. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Claims } from '../../tokens/jwt.ts'
import { claimText, claimTexts } from '../claims.ts'
import type { ConnectorEnv, ExpectedAnswer, ProvenIdentity } from '../connector.ts'
import { badAnswer, providerFault } from '../faults.ts'
import { deriveSecrets } from './authorization-request.ts'
import { keepForSignOut } from './end-session-request.ts'
import { checkIdToken } from './id-token.ts'
import { listIssuers, type OpenIdProvider, type ProviderMetadata, readMetadata } from './metadata.ts'
import { readUserinfo, redeemCode } from './token-request.ts'

export async function prove(
  answer: FormParameters,
  { state, maxAge, claims: wanted }: ExpectedAnswer,
  provider: OpenIdProvider,
  env: ConnectorEnv,
): Promise<ProvenIdentity> {
  const metadata = await readMetadata(provider, env)
  const code = readAnswer(answer, provider, metadata)
  const tokens = await redeemCode(code, state, provider, metadata, env)
  const { nonce } = deriveSecrets(state, env)
  const expected = { nonce, accessToken: tokens.accessToken, maxAge }
  const { claims: own, ...idToken } = await checkIdToken(tokens.idToken, provider, metadata, expected, env)
  const { userinfoEndpoint, endSessionEndpoint } = metadata
  const isWhole = wanted.every((name) => Object.hasOwn(own, name))
  const more =
    !isWhole && userinfoEndpoint !== undefined && tokens.accessToken !== undefined
      ? await readUserinfo(tokens.accessToken, idToken.subject, userinfoEndpoint, provider, env)
      : {}
  const claims = { ...more, ...own }
  return {
    ...idToken,
    isMultiFactor: isMultiFactor(provider, own),
    claims,
    leftOut: leftOut(claims),
    signOut: endSessionEndpoint && keepForSignOut(endSessionEndpoint, tokens.idToken),
  }
}

/** RFC 6749 §4.1.2, RFC 9207 §2.4. The state has been checked. */
function readAnswer(answer: FormParameters, provider: OpenIdProvider, { sendsIssuer }: ProviderMetadata): string {
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

/** Whether a value that counts as two factors is among `amr` and `acr`. */
function isMultiFactor({ trustMfa }: OpenIdProvider, claims: Claims): boolean {
  const amr = claimTexts(claims, 'amr')
  const acr = claimText(claims, 'acr')
  return trustMfa.amr.some((value) => amr.includes(value)) || (acr !== undefined && trustMfa.acr.includes(acr))
}

/**
 * Claims that the provider names without sending them (OpenID Connect Core §5.6.2): so Entra leaves out the groups of people who have
 * many.
 */
function leftOut({ _claim_names: names, hasgroups }: Claims): ReadonlySet<string> {
  const elsewhere = typeof names === 'object' && names !== null ? Object.keys(names) : []
  return new Set([...elsewhere, ...(hasgroups === undefined ? [] : ['groups'])])
}
