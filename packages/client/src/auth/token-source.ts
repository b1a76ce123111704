/** Where access tokens come from: kept, renewed before they expire, by one request at a time, in all tabs together. */
import { defined } from '../defined.ts'
import type { EndpointName, Fetch } from '../discovery.ts'
import { getJson, reach } from '../discovery.ts'
import { AuthError, asObject, readError, text } from '../errors.ts'
import { backoff, pause } from '../wait.ts'
import { memory, type TokenStorage } from './storage.ts'

/** An access token with what came with it. */
export interface Tokens {
  readonly accessToken: string
  /** Milliseconds since the epoch, by the clock of this machine: when it should be renewed. */
  readonly renewAt?: number | undefined
  readonly refreshToken?: string | undefined
  readonly idToken?: string | undefined
  /** What was granted. */
  readonly scope?: string | undefined
}

/**
 * One source of tokens for requests and stream. Every function such as `password()` creates one; write your own to take
 * tokens from elsewhere.
 */
export interface TokenSource {
  /**
   * A token that should be valid. `refused` is one that the server did not accept, and `error` is why: it must not be returned again. For a
   * `StepUpNeeded` the user signs in again, where the source can ask for that.
   */
  token(refused?: string, error?: unknown): Promise<string>
  /** The server has ended the session of this token: it must not be returned again. */
  refuse?(token: string): void
  /** Forgets the tokens, and revokes them. */
  signOut?(): Promise<void>
  close?(): void
  /** Changes the requests that carry its tokens, as `dpop()` does. */
  wrap?(fetch: Fetch): Fetch
  /** What `AuthToken` on a stream has besides the token. `reply` is what the server says to `QueryNonce`. */
  readonly prove?: (url: string, token: string, reply: unknown) => Promise<object>
}

/** What the server says of the user, as far as the scopes allow. */
export interface User {
  readonly sub: string
  readonly name?: string
  readonly email?: string
  readonly preferred_username?: string
  readonly [claim: string]: unknown
}

/** What a source needs to know of its server. */
export interface AuthEnv {
  readonly issuer: string
  readonly fetch: Fetch
  /** What the server says of itself (RFC 8414 §2), once the issuer is checked. */
  metadata(): Promise<Readonly<Record<string, unknown>>>
  /** The address of an endpoint in it. */
  endpoint(name: EndpointName): Promise<string>
  /** With `dpop()`: the thumbprint of its key, which codes are bound to. `leaves`: only if the key is kept while the page is left. */
  thumbprint?(leaves: boolean): Promise<string | undefined>
}

/** What the option `auth` takes: made by `browser()`, `password()` and their like. */
export type Auth<Source extends TokenSource = TokenSource> = (env: AuthEnv) => Source

/** The registered client that requests the tokens. */
export interface ClientOptions {
  /** The id of the registered client. */
  readonly clientId: string
  /** Only for clients that can keep a secret, which no page can. */
  readonly clientSecret?: string | undefined
  /** Separated by spaces. Without it, all that the client and the user may have. */
  readonly scope?: string | undefined
  /** What the tokens are for, if not the built-in services: the resource of an API (RFC 8707). */
  readonly resource?: string | undefined
  /** Where the tokens are kept between runs; only in memory by default. */
  readonly storage?: TokenStorage | undefined
}

/** A token is renewed this long before it expires, or after four fifths of its life if that is later. */
const MARGIN_MS = 60_000

interface Locks {
  request<T>(name: string, act: () => Promise<T>): Promise<T>
}

/**
 * Keeps the tokens of one grant: `gate.auth` of a client with `password()`, `device()` and their like. Make one yourself for
 * a grant of your own: `start` gets the first tokens, and others when they cannot be refreshed.
 *
 * @example
 * ```ts
 * const { name } = await gate.auth.user()
 * await gate.auth.signOut() // forgets the tokens and revokes them
 *
 * const auth = (env: AuthEnv) => new GrantedTokens(env, { clientId: 'worker' }, () => exchange(env))
 * ```
 */
export class GrantedTokens implements TokenSource {
  readonly #env: AuthEnv
  readonly #options: ClientOptions
  /** Starts over when there is no refresh token, or it is no longer valid. */
  readonly #start: () => Promise<Tokens>
  /** By which the tokens are kept in the storage. */
  readonly key: string
  readonly #storage: TokenStorage
  #tokens: Tokens | undefined
  #renewal: Promise<Tokens> | undefined
  #signOuts = 0

  constructor(env: AuthEnv, options: ClientOptions, start: () => Promise<Tokens>) {
    this.#env = env
    this.#options = options
    this.#start = start
    this.key = `gatehouse:${env.issuer}:${options.clientId}`
    this.#storage = options.storage ?? memory()
  }

  async token(refused?: string): Promise<string> {
    return (await this.tokens(refused)).accessToken
  }

  async tokens(refused?: string): Promise<Tokens> {
    const tokens = await this.current()
    if (isFresh(tokens, refused)) return tokens
    // One flight for all who ask; the lock makes it one for all tabs that share the storage.
    this.#renewal ??= this.#locked(() => this.#renew(refused)).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** What is kept, fresh or not. */
  async current(): Promise<Tokens | undefined> {
    this.#tokens ??= await this.#read()
    return this.#tokens
  }

  async keep(tokens: Tokens): Promise<void> {
    this.#tokens = tokens
    await this.#storage.setItem(this.key, JSON.stringify(tokens))
  }

  /** Who is signed in, as the server says now. */
  async user(): Promise<User> {
    const userinfo = await this.#env.endpoint('userinfo')
    const headers = { authorization: `Bearer ${await this.token()}` }
    return (await getJson(this.#env.fetch, userinfo, { headers })) as User
  }

  refuse(token: string): void {
    if (this.#tokens?.accessToken === token) this.#tokens = { ...this.#tokens, renewAt: 0 }
  }

  /** The storage has changed. */
  reload(): void {
    this.#tokens = undefined
  }

  async forget(): Promise<Tokens | undefined> {
    const tokens = await this.current()
    this.#tokens = undefined
    await this.#storage.removeItem(this.key)
    return tokens
  }

  /** RFC 7009: the refresh token takes its access tokens with it. Forgotten first, should the server be away. */
  async signOut(): Promise<void> {
    this.#signOuts++
    const tokens = await this.forget()
    if (tokens === undefined) return
    const token = tokens.refreshToken ?? tokens.accessToken
    await postForm(this.#env, 'revocation', { token, ...credentialForm(this.#options) })
  }

  async #renew(refused: string | undefined): Promise<Tokens> {
    // Another tab, or another process, may have renewed them while we waited for the lock.
    const stored = (await this.#read()) ?? this.#tokens
    if (stored?.accessToken !== this.#tokens?.accessToken && isFresh(stored, refused)) {
      this.#tokens = stored
      return stored
    }
    const signOuts = this.#signOuts
    const tokens = (await this.#refresh(stored)) ?? (await this.#start())
    // The user has signed out in the meantime, which also revoked the grant of these tokens.
    if (signOuts !== this.#signOuts) throw loginRequired()
    await this.keep(tokens)
    return tokens
  }

  async #refresh(stored: Tokens | undefined): Promise<Tokens | undefined> {
    if (stored?.refreshToken === undefined) return undefined
    try {
      const form = { grant_type: 'refresh_token', refresh_token: stored.refreshToken }
      // The ID token of the sign-in stays: it is the hint for signing out.
      return { ...stored, ...(await requestTokens(this.#env, this.#options, form)) }
    } catch (error) {
      // Expired, used or revoked; anything else may pass.
      if (!(error instanceof AuthError && error.code === 'invalid_grant')) throw error
      await this.forget()
      return undefined
    }
  }

  async #read(): Promise<Tokens | undefined> {
    const kept = await this.#storage.getItem(this.key)
    if (kept === null) return undefined
    try {
      const tokens = asObject(JSON.parse(kept))
      return typeof tokens.accessToken === 'string' ? (tokens as unknown as Tokens) : undefined
    } catch {
      return undefined
    }
  }

  #locked<T>(act: () => Promise<T>): Promise<T> {
    const { storage } = this.#options
    if (storage?.lock !== undefined) return storage.lock(this.key, act)
    const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {}
    return storage === undefined || locks === undefined ? act() : locks.request(this.key, act)
  }
}

/** There is no token, and the user must sign in. */
export function loginRequired(): AuthError {
  return new AuthError('Nobody is signed in', { code: 'login_required' })
}

function isFresh(tokens: Tokens | undefined, refused: string | undefined): tokens is Tokens {
  return tokens !== undefined && tokens.accessToken !== refused && Date.now() < (tokens.renewAt ?? Infinity)
}

/** POST to the token endpoint (RFC 6749 §3.2). */
export async function requestTokens(
  env: AuthEnv,
  { scope, resource, ...client }: ClientOptions,
  form: Readonly<Record<string, string>>,
): Promise<Tokens> {
  // A refresh keeps the scope, and a code's scope was already requested.
  const asked = form.refresh_token ?? form.code ?? form.device_code
  return readTokens(
    await postForm(env, 'token', { ...form, scope: asked ? undefined : scope, resource, ...credentialForm(client) }),
  )
}

/** RFC 6749 §5.1. The expiry is counted from now, by our clock: it does not matter how far that is off. */
export function readTokens(reply: Readonly<Record<string, unknown>>): Tokens {
  const accessToken = text(reply.access_token)
  if (accessToken === undefined) throw new AuthError('The reply has no access token', { code: 'client.no_token' })
  const life = Number(reply.expires_in) * 1000
  const optional = defined<unknown>({
    renewAt: life > 0 ? Date.now() + Math.max(life - MARGIN_MS, life * 0.8) : undefined,
    refreshToken: text(reply.refresh_token),
    idToken: text(reply.id_token),
    scope: text(reply.scope),
  })
  return { accessToken, ...optional }
}

export function credentialForm({ clientId, clientSecret }: ClientOptions): Form {
  return { client_id: clientId, client_secret: clientSecret }
}

type Form = Readonly<Record<string, string | undefined>>

const ATTEMPTS = 3

/** Repeated when the server is busy; not when the reply was lost, as a refresh token may have been used up. */
export async function postForm(
  env: AuthEnv,
  endpoint: EndpointName,
  form: Form,
): Promise<Readonly<Record<string, unknown>>> {
  const url = await env.endpoint(endpoint)
  const body = new URLSearchParams(defined(form))
  for (let attempt = 0; ; attempt++) {
    const response = await reach(env.fetch, url, { method: 'POST', body })
    if (response.ok) return asObject(await response.json().catch(() => undefined))
    const error = await readError(response)
    const seconds = error.retryAfter ?? 0
    if (error.retryable && attempt + 1 < ATTEMPTS && seconds <= 10) await pause(seconds * 1000 + backoff(attempt))
    else throw error
  }
}
