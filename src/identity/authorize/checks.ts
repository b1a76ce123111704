/** Every check of an authorization request, in the order in which a mistake is told. */
import type { Clock } from '../../protocol/clock.ts'
import { readChallenge } from './challenge.ts'
import { readClaims, readSubjects } from './claims.ts'
import { readMaxAge, readPrompt } from './prompt.ts'
import { refuse } from './refuse.ts'
import type { Ask, AuthorizationRequest, Target } from './request.ts'
import { checkResponseMode, readResponseType } from './response-type.ts'
import { readNonce, readScopes, scopeWords } from './scope.ts'

export interface CheckEnv {
  readonly issuer: string
  readonly clock: Clock
  /** The subject of an ID token that we signed, expired or not; undefined for anything else. */
  readonly readHint: (idToken: string) => Promise<{ readonly subject: string } | undefined>
}

/** Client and redirect address are known by now: whatever is refused here goes back to the client (B-11). */
export async function checkRequest(ask: Ask, target: Target, env: CheckEnv): Promise<AuthorizationRequest> {
  refuseRepeated(ask)
  refuseRegistration(ask)
  const responseType = readResponseType(ask)
  checkResponseMode(ask)
  const scopes = readScopes(ask)
  const nonce = readNonce(ask, responseType, scopes)
  const challenge = readChallenge(ask, responseType)
  const prompt = readPrompt(ask)
  const maxAge = readMaxAge(ask)
  const claims = readClaims(ask)
  const subjects = readSubjects(claims, await readHintedSubject(ask, env))
  return {
    clientId: ask.client.id,
    target,
    responseType,
    askedScopes: scopeWords(ask),
    scopes,
    nonce,
    challenge,
    prompt,
    maxAge,
    claims,
    subjects,
    loginHint: ask.parameters.get('login_hint')?.slice(0, 200),
    uiLocales: ask.parameters.get('ui_locales'),
  }
}

/** RFC 6749 §3.1. */
function refuseRepeated({ parameters }: Ask): void {
  const [name] = parameters.repeated
  if (name !== undefined) throw refuse('invalid_request', 'A parameter came more than once')
}

function refuseRegistration({ parameters }: Ask): void {
  if (parameters.get('registration') !== undefined)
    throw refuse('registration_not_supported', 'Clients are registered beforehand')
}

/** OpenID Connect Core §3.1.2.2: a hint is ours or it is nothing. */
async function readHintedSubject({ parameters }: Ask, { readHint }: CheckEnv): Promise<string | undefined> {
  const hint = parameters.get('id_token_hint')
  if (hint === undefined) return undefined
  const read = await readHint(hint)
  if (read === undefined) throw refuse('invalid_request', 'id_token_hint is not an ID token of this server')
  return read.subject
}
