/** Sources of tokens for programs: client credentials, password, refresh token, device, and tokens from elsewhere. */
import { AuthError } from '../errors.ts'
import { pause } from '../wait.ts'
import {
  type Auth,
  type AuthEnv,
  type ClientOptions,
  credentialForm,
  GrantedTokens,
  postForm,
  requestTokens,
  type TokenSource,
  type Tokens,
} from './token-source.ts'

/**
 * A service that acts for itself (RFC 6749 §4.4).
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: clientCredentials({ clientId: 'worker', clientSecret }) })
 * ```
 */
export function clientCredentials(options: ClientOptions & { readonly clientSecret: string }): Auth<GrantedTokens> {
  return (env) =>
    new GrantedTokens(env, options, () => requestTokens(env, options, { grant_type: 'client_credentials' }))
}

/** Who signs in, and with which client. */
export interface PasswordOptions extends ClientOptions {
  readonly username: string
  /** The password, or a function that asks for it when it is needed. */
  readonly password: string | (() => string | Promise<string>)
}

/**
 * A user with a password, for trusted programs (RFC 6749 §4.3).
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: password({ clientId: 'demo-cli', username: 'alice', password: 'wonderland-1' }) })
 * ```
 */
export function password(options: PasswordOptions): Auth<GrantedTokens> {
  const { username, password: given, ...client } = options
  return (env) =>
    new GrantedTokens(env, client, async () =>
      requestTokens(env, client, {
        grant_type: 'password',
        username,
        password: typeof given === 'string' ? given : await given(),
      }),
    )
}

/**
 * A refresh token that the program already has. It is rotated: keep the newest with `storage`.
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: refreshToken({ clientId: 'worker', refreshToken: process.env.TOKEN }) })
 * ```
 */
export function refreshToken(options: ClientOptions & { readonly refreshToken: string }): Auth<GrantedTokens> {
  const { refreshToken: given, ...client } = options
  return (env) =>
    new GrantedTokens(env, client, () =>
      requestTokens(env, client, { grant_type: 'refresh_token', refresh_token: given }),
    )
}

/** What the user must do elsewhere. */
export interface DevicePrompt {
  readonly userCode: string
  /** Where the code is entered. */
  readonly url: string
  /** `url` with the code in it, for a link or a QR code. */
  readonly urlComplete: string
  /** Seconds until the code expires. */
  readonly expiresIn: number
}

/** With which client, and how the code is shown. */
export interface DeviceOptions extends ClientOptions {
  /** Shows the code to the user. */
  readonly prompt: (prompt: DevicePrompt) => void
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A user who signs in on another device (RFC 8628), for terminals and machines without a browser.
 *
 * @example
 * ```ts
 * device({ clientId: 'gatehouse-cli', prompt: ({ urlComplete }) => console.log(`Open ${urlComplete}`) })
 * ```
 */
export function device(options: DeviceOptions): Auth<GrantedTokens> {
  return (env) => new GrantedTokens(env, options, () => startDevice(env, options))
}

async function startDevice(env: AuthEnv, { prompt, signal, ...client }: DeviceOptions): Promise<Tokens> {
  const started = await postForm(env, 'device_authorization', {
    ...credentialForm(client),
    scope: client.scope,
    resource: client.resource,
  })
  const expiresIn = Number(started.expires_in)
  const url = String(started.verification_uri)
  prompt({
    userCode: String(started.user_code),
    url,
    urlComplete: String(started.verification_uri_complete ?? url),
    expiresIn,
  })
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: String(started.device_code),
  }
  const end = performance.now() + expiresIn * 1000
  let seconds = Number(started.interval ?? 5)
  while (performance.now() < end) {
    await pause(seconds * 1000, signal)
    try {
      return await requestTokens(env, client, form)
    } catch (error) {
      const { code, retryable } = error as AuthError
      if (code === 'slow_down') seconds += 5
      else if (code !== 'authorization_pending' && retryable !== true) throw error
    }
  }
  throw new AuthError('The code has expired', { code: 'expired_token' })
}

/**
 * Tokens from elsewhere: another library, or your own server. It is called for each request, so it should cache them.
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: getToken(() => session.accessToken) })
 * ```
 */
export function getToken(get: (refused?: string) => string | Promise<string>): Auth<TokenSource> {
  return () => {
    let asking: Promise<string> | undefined
    return {
      token(refused) {
        const ask = async () => get(refused)
        asking ??= ask().finally(() => {
          asking = undefined
        })
        return asking
      },
    }
  }
}
