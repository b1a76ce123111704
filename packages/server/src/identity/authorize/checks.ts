/** Checks every parameter of an authorization request; the order decides which error is reported first. */

import type { Clock } from 'gatehouse-protocol'
import { splitWords } from '../../lib/words.ts'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import { type ChallengeMethod, parseResponseType, type ResponseType } from '../../store/clients/client-metadata.ts'
import { chooseTarget, isForAgents, MOST_RESOURCES, readResources, scopesOfTarget } from '../apis/targets.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'
import { isChallenge } from '../grants/pkce.ts'
import { repeatedText } from '../oauth-error.ts'
import { readAllowedScopes } from '../tokens/scope.ts'
import { refuse } from './authorization-error.ts'
import { readClaims, readSubjects } from './claims.ts'
import { type AuthorizationRequest, gives, type Prompt, type Target, type UncheckedRequest } from './request.ts'
import { checkResponseMode } from './response-modes.ts'
import { readHint, refuseTooLong } from './stored-parameters.ts'

export interface CheckEnv {
  readonly issuer: string
  readonly clock: Clock
  readonly known: KnownScopes
  readonly attributes: AttributeClaims
  /** The subject of an ID token that this server signed, expired or not; undefined for anything else. */
  readonly readHint: (idToken: string) => Promise<{ readonly subject: string } | undefined>
}

/** The client and its redirect URI have been checked: an error from here on is sent to the client (B-11). */
export async function checkRequest(
  unchecked: UncheckedRequest,
  target: Target,
  env: CheckEnv,
): Promise<AuthorizationRequest> {
  refuseRepeated(unchecked)
  refuseTooLong(unchecked.parameters)
  refuseRegistration(unchecked)
  const responseType = readResponseType(unchecked)
  checkResponseMode(unchecked.parameters)
  const audiences = readAudiences(unchecked, env)
  const scopes = readScopes(unchecked, audiences, env.known)
  // A token of the response itself is for one target, which no later request can name.
  if (gives(responseType, 'token')) chooseTarget({ named: undefined, audiences, granted: scopes }, env.known)
  const nonce = readNonce(unchecked, responseType, scopes)
  const challenge = readChallenge(unchecked, responseType)
  const prompt = readPrompt(unchecked)
  const maxAge = readMaxAge(unchecked)
  const claims = readClaims(unchecked, env.attributes)
  const subjects = readSubjects(claims, await readHintedSubject(unchecked, env))
  return {
    clientId: unchecked.client.id,
    target,
    responseType,
    askedScopes: scopeWords(unchecked),
    scopes,
    audiences,
    nonce,
    challenge,
    boundKey: readBoundKey(unchecked),
    prompt,
    maxAge,
    acrValues: readAcrValues(unchecked),
    claims,
    subjects,
    loginHint: readHint('login_hint', unchecked.parameters),
    uiLocales: readHint('ui_locales', unchecked.parameters),
  }
}

/** RFC 6749 §3.1: parameters must not be repeated; RFC 8707 §2 excepts `resource`. */
function refuseRepeated({ parameters }: UncheckedRequest): void {
  const repeated = new Set([...parameters.repeated].filter((name) => name !== 'resource'))
  if (repeated.size > 0) throw refuse('invalid_request', repeatedText(repeated))
}

function readAudiences(
  { parameters, client }: UncheckedRequest,
  { issuer, known }: CheckEnv,
): readonly string[] | undefined {
  const rules = { issuer, registered: client.scopes, isAgent: client.agent, known, most: MOST_RESOURCES }
  return readResources(parameters.all('resource'), rules)
}

function refuseRegistration({ parameters }: UncheckedRequest): void {
  if (parameters.get('registration') !== undefined)
    throw refuse('registration_not_supported', 'Clients cannot register within an authorization request')
}

/** OpenID Connect Core §3.1.2.2: the hint must be an ID token of this server. */
async function readHintedSubject(
  { parameters }: UncheckedRequest,
  { readHint }: CheckEnv,
): Promise<string | undefined> {
  const hint = parameters.get('id_token_hint')
  if (hint === undefined) return undefined
  const read = await readHint(hint)
  if (read === undefined) throw refuse('invalid_request', 'id_token_hint is not an ID token of this server')
  return read.subject
}

/** B-01 to B-03. */
function readResponseType({ parameters, client }: UncheckedRequest): ResponseType {
  const text = parameters.get('response_type')
  if (text === undefined) throw refuse('invalid_request', 'response_type is missing')
  const type = parseResponseType(text)
  if (type === undefined) throw refuse('unsupported_response_type', 'This response_type is not supported')
  if (!client.responseTypes.has(type))
    throw refuse('unauthorized_client', `The client is not registered for the response_type ${type}`)
  // No proof comes with this request, so that a token could not be bound.
  if (client.requireDpop && gives(type, 'token'))
    throw refuse(
      'unauthorized_client',
      'The client is registered for DPoP: it gets access tokens from the token endpoint only',
    )
  return type
}

function readScopes(
  { parameters, client }: UncheckedRequest,
  audiences: readonly string[] | undefined,
  known: KnownScopes,
): readonly string[] {
  const text = parameters.get('scope')
  const isOfAgents = isForAgents(audiences, known)
  if (text === undefined && !isOfAgents) throw refuse('invalid_scope', 'scope is missing')
  const allowed = readAllowedScopes(text, client, audiences, known)
  if (audiences === undefined || isOfAgents) return allowed
  return scopesOfTarget(allowed, { resource: undefined, audiences }, known)
}

function scopeWords({ parameters }: UncheckedRequest): string[] {
  return [...new Set(splitWords(parameters.get('scope') ?? ''))]
}

/** OpenID Connect Core §3.2.2.1, §3.3.2.11: an ID token from the authorization endpoint needs a nonce. */
function readNonce(
  { parameters }: UncheckedRequest,
  responseType: ResponseType,
  scopes: readonly string[],
): string | undefined {
  const nonce = parameters.get('nonce')
  if (!gives(responseType, 'id_token')) return nonce
  if (!scopes.includes('openid')) throw refuse('invalid_request', 'An ID token requires the scope openid')
  if (nonce === undefined) throw refuse('invalid_request', 'nonce is required with this response_type')
  return nonce
}

/** RFC 7636 §4.3: the challenge that the code will be bound to. */
function readChallenge(
  { parameters, client }: UncheckedRequest,
  responseType: ResponseType,
): { method: ChallengeMethod; value: string } | undefined {
  const value = parameters.get('code_challenge')
  const method = parameters.get('code_challenge_method') ?? 'plain'
  if (value === undefined) {
    if (parameters.get('code_challenge_method') !== undefined)
      throw refuse('invalid_request', 'code_challenge_method is present without code_challenge')
    if (client.requirePkce && gives(responseType, 'code'))
      throw refuse('invalid_request', 'code_challenge is required for this client')
    return undefined
  }
  if (method !== 'plain' && method !== 'S256')
    throw refuse('invalid_request', 'code_challenge_method must be S256 or plain')
  if (!client.challengeMethods.has(method))
    throw refuse(
      'invalid_request',
      `This client must use code_challenge_method ${[...client.challengeMethods].join(' or ')}`,
    )
  if (!isChallenge(value)) throw refuse('invalid_request', 'code_challenge must be 43 to 128 unreserved characters')
  return { method, value }
}

/** RFC 7638 §3: a SHA-256 digest in Base64url. */
const THUMBPRINT = /^[\w-]{43}$/

function readBoundKey({ parameters }: UncheckedRequest): string | undefined {
  const thumbprint = parameters.get('dpop_jkt')
  if (thumbprint !== undefined && !THUMBPRINT.test(thumbprint))
    throw refuse('invalid_request', 'dpop_jkt must be the thumbprint of a key: 43 characters of Base64url')
  return thumbprint
}

const PROMPTS: readonly Prompt[] = ['none', 'login', 'consent', 'select_account']

/** B-50 to B-53. */
function readPrompt({ parameters }: UncheckedRequest): Prompt[] {
  const words = splitWords(parameters.get('prompt') ?? '')
  const prompts = words.map((word) => {
    const prompt = PROMPTS.find((known) => known === word)
    if (prompt === undefined) throw refuse('invalid_request', 'prompt contains an unsupported value')
    return prompt
  })
  if (prompts.includes('none') && prompts.length > 1)
    throw refuse('invalid_request', 'prompt=none cannot be combined with other values')
  return [...new Set(prompts)]
}

/** Any value is accepted. */
function readAcrValues({ parameters }: UncheckedRequest): readonly string[] | undefined {
  const text = parameters.get('acr_values')
  return text === undefined ? undefined : splitWords(text)
}

function readMaxAge({ parameters, client }: UncheckedRequest): number | undefined {
  const text = parameters.get('max_age')
  if (text === undefined) return client.defaultMaxAge
  if (!/^\d{1,10}$/.test(text)) throw refuse('invalid_request', 'max_age must be a whole number of seconds')
  return Number(text)
}
