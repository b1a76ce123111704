/** People who sign in with their browser: code flow with PKCE by redirect or pop-up, silent renewal, sign-out. */
import { reach } from '../discovery.ts'
import { AuthError, asObject, problemError, readError, StepUpNeeded } from '../errors.ts'
import { type Search, withSearch } from '../http.ts'
import { random } from '../random.ts'
import { either } from '../wait.ts'
import type { Page } from './page.ts'
import type { TokenStorage } from './storage.ts'
import {
  type Auth,
  type AuthEnv,
  type ClientOptions,
  GrantedTokens,
  loginRequired,
  requestTokens,
  type TokenSource,
  type Tokens,
  type User,
} from './token-source.ts'
import { receive, talk } from './windows.ts'

/** How people sign in with their browser. */
export interface BrowserOptions extends Omit<ClientOptions, 'clientSecret'> {
  /** With `offline_access` tokens are renewed without leaving the page: `openid offline_access Platform/Market`. */
  readonly scope: string
  /** A registered address of this page; by default the page without its query. */
  readonly redirectUri?: string | undefined
  /** Where the user returns to after signing out; by default `redirectUri`. */
  readonly postLogoutRedirectUri?: string | undefined
  /** `localStorage` by default, which all tabs share; `memory()` keeps them in this page only. */
  readonly storage?: TokenStorage | undefined
  /**
   * Whether to try without the user when there is no refresh token: by a request where page and server have the same
   * origin, otherwise in a hidden frame.
   */
  readonly silent?: boolean | undefined
  /**
   * What happens when the server wants a stronger or newer sign-in (RFC 9470); it resolves when the user has signed in. By default the user
   * signs in in a pop-up or, where the browser blocks it, by redirect. Pages that show a button first call `signIn` in its handler, with
   * `popup` and the `acrValues` and `maxAge` of the need.
   */
  readonly stepUp?: ((need: StepUpNeeded) => Promise<void>) | undefined
}

/** How to sign in this time. */
export interface SignInOptions {
  /** Signs in in a separate window, without leaving the page. Call it in a click handler. */
  readonly popup?: boolean | undefined
  /** `login` asks for the password again, `select_account` for the account. */
  readonly prompt?: string | undefined
  readonly loginHint?: string | undefined
  /** `2` asks for two factors. */
  readonly acrValues?: string | undefined
  /** How many seconds ago the user may have signed in; otherwise the password is asked for again. */
  readonly maxAge?: number | undefined
  /** Where to go afterwards, on the origin of the page; by default back to where the user was. */
  readonly returnTo?: string | undefined
  /** Ends the waiting for a pop-up. */
  readonly signal?: AbortSignal | undefined
}

/** How to sign out. */
export interface SignOutOptions {
  /** Also ends the session at the server, which leaves the page; true by default. */
  readonly redirect?: boolean | undefined
}

/** What must be known when the user returns. */
interface Transaction {
  readonly state: string
  readonly verifier: string
  readonly nonce: string
  readonly returnTo: string
}

/** The states that this library creates: by redirect, in a pop-up or in a frame. */
const STATE = /^[rpf]\.[\d-]{43,}$/
/** How long the hidden frame may take. */
const SILENT_MS = 10_000
/** How long the page that opened a pop-up or frame may take to say so. */
const OPENER_MS = 1_000
const BLOCKED = 'client.popup_blocked'
const forever = new Promise<never>(() => {})

/**
 * Signs people in with their browser.
 *
 * @example
 * ```ts
 * const auth = browser({ clientId: 'spa', scope: 'openid offline_access Platform/Market' })
 * const gate = new Gatehouse('https://gate.example.com', { auth })
 * if (!(await gate.auth.signedIn())) await gate.auth.signIn()
 * greet((await gate.auth.user())?.name)
 * ```
 */
export function browser(options: BrowserOptions): Auth<Browser> {
  return (env) => new Browser(env, options)
}

/**
 * `gate.auth` of a client with `browser()`.
 *
 * @example
 * ```ts
 * button.onclick = () => gate.auth.signIn({ popup: true })
 * leave.onclick = () => gate.auth.signOut()
 * ```
 */
export class Browser implements TokenSource {
  readonly #env: AuthEnv
  readonly #options: BrowserOptions
  readonly #page = globalThis as unknown as Page
  readonly #granted: GrantedTokens
  #returned: Promise<void> | undefined
  #step: Promise<void> | undefined

  constructor(env: AuthEnv, options: BrowserOptions) {
    this.#env = env
    this.#options = options
    this.#granted = new GrantedTokens(env, { storage: this.#localStorage(), ...options }, () => this.#start())
    this.#page.addEventListener?.('storage', this.#onStorage)
  }

  /**
   * Whether there is a token. Finishes a sign-in if the page is the one that the user came back to, so call it before
   * anything else.
   */
  async signedIn(): Promise<boolean> {
    try {
      await this.token()
      return true
    } catch (error) {
      if (error instanceof AuthError && error.code === 'login_required') return false
      throw error
    }
  }

  async token(refused?: string, error?: unknown): Promise<string> {
    // Also after a failure, but then the address no longer has a code.
    this.#returned ??= this.#finishRedirect().catch((error) => {
      this.#returned = undefined
      throw error
    })
    await this.#returned
    if (error instanceof StepUpNeeded && (await this.#granted.token()) === refused) {
      // Once for all who wait for it.
      this.#step ??= (this.#options.stepUp?.(error) ?? this.#signInAgain(error)).finally(() => {
        this.#step = undefined
      })
      await this.#step.catch(() => {
        throw error
      })
    }
    return this.#granted.token(refused)
  }

  /** Signs in: by redirect the page is left, and the promise never settles; with a pop-up it resolves afterwards. */
  async signIn(options: SignInOptions = {}): Promise<void> {
    const { popup = false, prompt, loginHint, acrValues, maxAge, returnTo, signal } = options
    const { location } = this.#page
    // The address of the page is not trusted: this must not lead the user to another site, or into `javascript:`.
    const target = new URL(returnTo ?? location.href, location.href)
    if (target.origin !== location.origin) throw new TypeError(`Not of this origin: "${returnTo}"`)
    // Before anything is awaited: browsers allow a window only in the handler of a click.
    const window = popup ? this.#page.open('about:blank', '_blank', 'popup,width=480,height=640') : undefined
    if (window === null) throw new AuthError('The window was blocked', { code: BLOCKED })
    const transaction = start(window === undefined ? 'r' : 'p', target.href)
    try {
      const hint = acrValues || maxAge ? (await this.#granted.current())?.idToken : undefined
      const asked = { acr_values: acrValues, max_age: maxAge, id_token_hint: hint }
      const more = { prompt, login_hint: loginHint, ...asked }
      const url = await this.#authorizeUrl(transaction, more)
      if (window === undefined) {
        this.#page.sessionStorage.setItem(this.#storageKey(transaction.state), JSON.stringify(transaction))
        location.assign(url)
        return forever
      }
      window.location = url
      const gone = new AbortController()
      const watch = setInterval(() => window.closed && gone.abort(), 500)
      const answer = receive(this.#storageKey(transaction.state), either(signal, gone.signal)).finally(() =>
        clearInterval(watch),
      )
      await this.#redeem(await answer, transaction)
    } finally {
      window?.close()
    }
  }

  #signInAgain({ acrValues, maxAge }: StepUpNeeded): Promise<void> {
    const options = { acrValues, maxAge }
    return this.signIn({ ...options, popup: true }).catch((error) => {
      // No click precedes this, so that a pop-up window could be blocked.
      if (error.code !== BLOCKED) throw error
      return this.signIn(options)
    })
  }

  /** Forgets and revokes the tokens, in all tabs, and ends the session at the server. */
  async signOut({ redirect = true }: SignOutOptions = {}): Promise<void> {
    const idToken = (await this.#granted.current())?.idToken
    // The server may be away: here the user is signed out in any case.
    await this.#granted.signOut().catch(() => {})
    if (!redirect) return
    const { clientId, postLogoutRedirectUri = this.#redirectUri } = this.#options
    const endSession = await this.#env.endpoint('end_session')
    const search = { client_id: clientId, post_logout_redirect_uri: postLogoutRedirectUri, id_token_hint: idToken }
    this.#page.location.assign(withSearch(endSession, search))
    return forever
  }

  /** The user who is signed in, according to the server; undefined if there is none. */
  async user(): Promise<User | undefined> {
    return (await this.signedIn()) ? this.#granted.user() : undefined
  }

  /** The granted scopes: those that the client requested and the user has. */
  async scopes(): Promise<readonly string[]> {
    const { scope = '' } = (await this.#granted.current()) ?? {}
    return scope.match(/\S+/g) ?? []
  }

  refuse(token: string): void {
    this.#granted.refuse(token)
  }

  close(): void {
    this.#page.removeEventListener?.('storage', this.#onStorage)
  }

  /** Another tab has signed in or out. */
  readonly #onStorage = ({ key }: { readonly key: string | null }): void => {
    if (key === null || key === this.#granted.key) this.#granted.reload()
  }

  /** A browser that allows no cookies throws: then the tokens live as long as the page. */
  #localStorage(): TokenStorage | undefined {
    try {
      return this.#page.localStorage
    } catch {
      return undefined
    }
  }

  get #redirectUri(): string {
    const { location } = this.#page
    return this.#options.redirectUri ?? location.origin + location.pathname
  }

  /** When there is no valid refresh token. */
  async #start(): Promise<Tokens> {
    if (this.#options.silent !== true) throw loginRequired()
    const transaction = start('f', '')
    try {
      const url = await this.#authorizeUrl(transaction, { prompt: 'none' })
      const { origin } = this.#page.location
      const isHere = [url, this.#redirectUri].every((address) => new URL(address).origin === origin)
      const answer = isHere ? await this.#request(url) : await this.#frame(url, transaction.state)
      return await this.#exchange(answer, transaction)
    } catch (error) {
      // Third-party cookies may be blocked, or the user must interact.
      if (error instanceof AuthError && (error.code.endsWith('_required') || error.code === 'client.no_answer'))
        throw loginRequired()
      throw error
    }
  }

  /** The redirect leads to an address of this origin, so that the request can follow it and see the answer. */
  async #request(url: string): Promise<URLSearchParams> {
    const response = await reach(this.#env.fetch, url, { cache: 'no-store', redirect: 'follow' })
    if (!response.ok) throw await readError(response)
    response.body?.cancel()
    return new URL(response.url).searchParams
  }

  async #frame(url: string, state: string): Promise<URLSearchParams> {
    const { document } = this.#page
    const frame = document.createElement('iframe')
    try {
      frame.hidden = true
      frame.src = url
      document.body.append(frame)
      return await receive(this.#storageKey(state), AbortSignal.timeout(SILENT_MS))
    } finally {
      frame.remove()
    }
  }

  /** RFC 6749 §4.1.1, RFC 7636 §4.3. */
  async #authorizeUrl({ state, verifier, nonce }: Transaction, more: Search): Promise<string> {
    const { clientId, scope } = this.#options
    const authorize = await this.#env.endpoint('authorization')
    return withSearch(authorize, {
      client_id: clientId,
      redirect_uri: this.#redirectUri,
      response_type: 'code',
      scope,
      state,
      nonce,
      code_challenge: await createChallenge(verifier),
      code_challenge_method: 'S256',
      // RFC 9449 §10.
      dpop_jkt: await this.#env.thumbprint?.(state.startsWith('r')),
      ...more,
    })
  }

  /** Stored values and messages between pages are bound to the issuer and the client, so that an answer reaches only the client that asked. */
  #storageKey(state: string): string {
    return `${this.#granted.key}:${state}`
  }

  /** If this page is where the user came back to. Others use `state` and `code` too, and anybody can make up an address. */
  async #finishRedirect(): Promise<void> {
    const { location, history } = this.#page
    const answer = new URLSearchParams(location?.search)
    const state = answer.get('state') ?? ''
    if (!STATE.test(state)) return
    const key = this.#storageKey(state)
    if (!state.startsWith('r')) {
      // This page is the pop-up or the hidden frame: the page that opened it continues, if there is one.
      return talk(key, AbortSignal.timeout(OPENER_MS), location.search).then(
        () => {
          // Close only after the answer was received: a page that sees a closed window no longer expects one.
          this.#page.close()
          return forever
        },
        () => {},
      )
    }
    const { sessionStorage } = this.#page
    const kept = sessionStorage.getItem(key)
    // Opened from the history, or requested by another client of this page.
    if (kept === null) return
    sessionStorage.removeItem(key)
    const transaction = JSON.parse(kept) as Transaction
    const isHere = new URL(transaction.returnTo).pathname === location.pathname
    history.replaceState(null, '', isHere ? transaction.returnTo : location.pathname)
    await this.#redeem(answer, transaction)
    if (isHere) return
    location.replace(transaction.returnTo)
    return forever
  }

  async #redeem(answer: URLSearchParams, transaction: Transaction): Promise<void> {
    await this.#granted.keep(await this.#exchange(answer, transaction))
  }

  /** RFC 6749 §4.1.3; the checks of RFC 9207 §2.4 and OpenID Connect Core §3.1.3.7. */
  async #exchange(answer: URLSearchParams, { state, verifier, nonce }: Transaction): Promise<Tokens> {
    const { authorization_response_iss_parameter_supported: namesIssuer } = await this.#env.metadata()
    const from = answer.get('iss') ?? (namesIssuer === true ? undefined : this.#env.issuer)
    if (from !== this.#env.issuer || answer.get('state') !== state) throw untrusted()
    const code = answer.get('code')
    if (code === null) throw problemError(Object.fromEntries(answer))
    const tokens = await requestTokens(this.#env, this.#options, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#redirectUri,
      code_verifier: verifier,
    })
    if (tokens.idToken === undefined) return tokens
    const { iss, aud, nonce: returned } = decodeClaims(tokens.idToken)
    if (iss !== this.#env.issuer || ![aud].flat().includes(this.#options.clientId) || returned !== nonce)
      throw untrusted()
    return tokens
  }
}

function start(kind: 'r' | 'p' | 'f', returnTo: string): Transaction {
  return { state: `${kind}.${random()}`, verifier: random(), nonce: random(), returnTo }
}

/** RFC 7636 §4.2. */
async function createChallenge(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace('=', '')
}

/**
 * The payload of a token that came from the token endpoint itself, so its signature does not have to be checked. Characters
 * beyond ASCII are garbled, but no claim with such characters is read.
 */
function decodeClaims(token: string): Readonly<Record<string, unknown>> {
  const [, payload = ''] = token.split('.')
  return asObject(JSON.parse(atob(payload.replace(/-/g, '+').replace(/_/g, '/'))))
}

function untrusted(): AuthError {
  return new AuthError('The answer is not of this sign-in', { code: 'client.untrusted' })
}
