/** The checks of an ID token (OpenID Connect Core §3.1.3.7), and those that it shares with a logout token. */
import { hash, timingSafeEqual } from 'node:crypto'
import { type ForeignJwt, JwtFault, verifyForeignJwt } from '../../remote-keys/foreign-jwt.ts'
import { DocumentUnavailable } from '../../remote-keys/remote-documents.ts'
import type { Claims } from '../../tokens/jwt.ts'
import type { ConnectorEnv } from '../connector.ts'
import { badAnswer, providerFault } from '../faults.ts'
import { fetchOptions, isTemplate, listIssuers, type OpenIdProvider, type ProviderMetadata } from './metadata.ts'

const ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const
/** Clocks may differ by this much, in seconds. */
export const SKEW = 60
const LONGEST_SUBJECT = 255

export interface ExpectedIdToken {
  readonly nonce: string
  readonly accessToken: string | undefined
  /** Seconds, if it was asked for. */
  readonly maxAge: number | undefined
}

/** An ID token that passed every check. */
export interface IdToken {
  readonly issuer: string
  readonly subject: string
  readonly sid: string | undefined
  /** Milliseconds. */
  readonly authTime: number | undefined
  readonly claims: Claims
}

export async function checkIdToken(
  token: string,
  provider: OpenIdProvider,
  metadata: ProviderMetadata,
  expected: ExpectedIdToken,
  env: ConnectorEnv,
): Promise<IdToken> {
  const { header, claims } = await verified(token, provider, metadata, env)
  if (header.typ !== undefined && String(header.typ).toUpperCase() !== 'JWT')
    throw badAnswer(`A token of the type ${header.typ} is no ID token`)
  const now = env.clock() / 1000
  const issuer = checkParties(claims, provider)
  if (typeof claims.sub !== 'string' || claims.sub === '' || claims.sub.length > LONGEST_SUBJECT)
    throw badAnswer('The ID token has no usable sub')
  if (typeof claims.exp !== 'number' || claims.exp <= now - SKEW) throw badAnswer('The ID token has expired')
  checkIssuedAt(claims, now)
  if (typeof claims.nonce !== 'string' || !isSame(claims.nonce, expected.nonce))
    throw badAnswer('The ID token has another nonce than the request')
  checkAccessTokenHash(claims, header, expected.accessToken)
  return {
    issuer,
    subject: claims.sub,
    sid: typeof claims.sid === 'string' && claims.sid !== '' ? claims.sid : undefined,
    authTime: readAuthTime(claims, expected.maxAge, now),
    claims,
  }
}

/** The signature, under one of the keys that the provider publishes. */
export async function verified(
  token: string,
  provider: OpenIdProvider,
  { jwksUri }: Pick<ProviderMetadata, 'jwksUri'>,
  env: ConnectorEnv,
): Promise<ForeignJwt> {
  const keys = await env.remoteKeys()
  try {
    return await verifyForeignJwt(token, keys.finder(jwksUri, fetchOptions(provider)), ALGS)
  } catch (error) {
    if (error instanceof JwtFault) throw badAnswer(`The token cannot be accepted: ${error.message}`)
    if (error instanceof DocumentUnavailable) throw providerFault('provider.unavailable', error.message)
    throw error
  }
}

/** `iss` by character, `aud` this client alone, `azp` too if it is there. Returns the issuer. */
export function checkParties(claims: Claims, provider: OpenIdProvider): string {
  const { iss, aud, azp, tid } = claims
  const issuer = listIssuers(provider).find((each) => each === iss)
  if (issuer === undefined) throw badAnswer(`The token is of the issuer ${String(iss)}`)
  // The tenant is in the issuer; a token whose tid differs contradicts itself.
  if (isTemplate(provider) && (typeof tid !== 'string' || issuer !== provider.issuer.replace('{tenantid}', tid)))
    throw badAnswer('The token has another tid than its issuer')
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (audience.length === 0 || !audience.every((each) => each === provider.clientId))
    throw badAnswer('The token is for another audience')
  if (azp !== undefined && azp !== provider.clientId) throw badAnswer('The token was issued to another client (azp)')
  return issuer
}

export function checkIssuedAt({ iat, nbf }: Claims, now: number): void {
  if (typeof iat !== 'number' || iat > now + SKEW) throw badAnswer('The token has no iat, or one in the future')
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + SKEW)) throw badAnswer('The token is not valid yet')
}

/** §3.1.3.8: the left half of the digest that belongs to the algorithm of the signature. */
function checkAccessTokenHash({ at_hash: given }: Claims, { alg }: ForeignJwt['header'], accessToken?: string): void {
  if (given === undefined) return
  const digest = alg === 'EdDSA' || alg === 'Ed25519' ? 'sha512' : 'sha256'
  const whole = hash(digest, accessToken ?? '', 'buffer')
  const half = whole.subarray(0, whole.length / 2).toString('base64url')
  if (accessToken === undefined || typeof given !== 'string' || !isSame(given, half))
    throw badAnswer('at_hash does not belong to the access token')
}

function readAuthTime({ auth_time: time }: Claims, maxAge: number | undefined, now: number): number | undefined {
  if (time !== undefined && (typeof time !== 'number' || time > now + SKEW))
    throw badAnswer('auth_time is in the future')
  if (maxAge !== undefined && (time === undefined || time < now - maxAge - SKEW))
    throw badAnswer('The person authenticated longer ago than max_age allows')
  return time === undefined ? undefined : time * 1000
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
