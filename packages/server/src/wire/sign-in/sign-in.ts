/** From a start-up packet to a caller: what is asked for is decided by the user's name, before anything is known of the client. */
import {
  type Authenticate,
  isPlatformScope,
  opensPlatform,
  PLATFORM_AUDIENCE,
  type Principal,
  SCOPES,
} from 'gatehouse-protocol'
import { Fields } from '../protocol/messages.ts'
import {
  AUTHENTICATION_CLEARTEXT_PASSWORD,
  authenticationSasl,
  authenticationSaslContinue,
} from '../protocol/replies.ts'
import type { SignInChannel } from './channel.ts'
import { ERROR_ACKNOWLEDGED, OAUTHBEARER, readBearer, readInitialResponse, tokenNeeded } from './oauthbearer.ts'

export type SignInMethod = 'oauth' | 'token' | 'client secret' | 'password'

export type SignInResult =
  | {
      readonly outcome: 'good'
      readonly principal: Principal
      readonly method: SignInMethod
      /** Ends what was created for this connection alone; called once it is closed, or was refused after all. */
      readonly release?: () => Promise<void>
    }
  /** The reason is for the audit log only. What was given the client knows itself: without it, a secret. */
  | { readonly outcome: 'wrong'; readonly reason: string; readonly given?: 'token' | 'no token' }
  | { readonly outcome: 'delayed' }
  /** The client asked where tokens are issued, and comes back with one. */
  | { readonly outcome: 'discovery' }

/** Checks a client's secret or a user's password. */
export type CheckSecret = (attempt: {
  readonly name: string
  readonly secret: string
  readonly address: string
  readonly requestId: string
}) => Promise<SignInResult>

export interface SignInEnv {
  readonly issuer: string
  readonly authenticate: Authenticate
  readonly checkSecret: CheckSecret
}

export interface Applicant {
  readonly user: string
  readonly address: string
  readonly connectionId: string
}

/** The users that stand for a way to sign in. */
const OAUTH_USER = 'oauth'
const TOKEN_USER = 'token'

const TOOL_SCOPES = SCOPES.filter((scope) => scope === 'openid' || isPlatformScope(scope))
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

export function signIn(applicant: Applicant, channel: SignInChannel, env: SignInEnv): Promise<SignInResult> {
  return applicant.user === OAUTH_USER ? signInByOAuth(channel, env) : signInByPassword(applicant, channel, env)
}

async function signInByOAuth(channel: SignInChannel, env: SignInEnv): Promise<SignInResult> {
  let message = readInitialResponse(await channel.ask(authenticationSasl([OAUTHBEARER])))
  message ??= (await channel.ask(authenticationSaslContinue(''))).toString('utf8')
  const token = readBearer(message)
  const result = token === '' ? DISCOVERY : await checkToken(token, 'oauth', env)
  if (result.outcome === 'good') return result
  const answer = await channel.ask(authenticationSaslContinue(tokenNeeded(env.issuer, TOOL_SCOPES)))
  return answer.toString('latin1') === ERROR_ACKNOWLEDGED ? result : { outcome: 'wrong', reason: 'not acknowledged' }
}

const DISCOVERY = { outcome: 'discovery' } as const

async function signInByPassword(
  { user, address, connectionId }: Applicant,
  channel: SignInChannel,
  env: SignInEnv,
): Promise<SignInResult> {
  const fields = new Fields(await channel.ask(AUTHENTICATION_CLEARTEXT_PASSWORD))
  const secret = fields.text()
  fields.end()
  if (user === TOKEN_USER && !JWT.test(secret ?? '')) return { outcome: 'wrong', reason: 'no token', given: 'no token' }
  if (secret === undefined || secret === '') return { outcome: 'wrong', reason: 'no password' }
  if (!JWT.test(secret)) return env.checkSecret({ name: user, secret, address, requestId: connectionId })
  const result = await checkToken(secret, 'token', env)
  return result.outcome === 'good' && !namesPrincipal(user, result.principal)
    ? { outcome: 'wrong', reason: 'token of another user', given: 'token' }
    : result
}

async function checkToken(token: string, method: 'oauth' | 'token', env: SignInEnv): Promise<SignInResult> {
  const principal = await env.authenticate(token)
  if (principal === undefined) return { outcome: 'wrong', reason: 'invalid token', given: 'token' }
  // RFC 9449 §7.1: it is valid with a proof only, which this protocol has no place for.
  if (principal.boundKey !== undefined) return { outcome: 'wrong', reason: 'token bound to a key', given: 'token' }
  return { outcome: 'good', principal, method }
}

/** Whether the caller may run statements at all. */
export function mayUsePlatform({ audiences, scopes }: Principal): boolean {
  return audiences.includes(PLATFORM_AUDIENCE) && [...scopes].some(opensPlatform)
}

function namesPrincipal(name: string, { username, clientId }: Principal): boolean {
  return name === TOKEN_USER || name === clientId || name.toLowerCase() === username?.toLowerCase()
}
