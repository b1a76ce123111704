/** What our tokens say: access tokens (RFC 9068), ID tokens (OpenID Connect Core §2) and logout tokens (Back-Channel Logout §2.4). */
import { hash, randomUUID } from 'node:crypto'
import { type Clock, seconds } from '../protocol/clock.ts'
import { audiencesOf, IDENTITY_AUDIENCE } from '../protocol/scopes.ts'
import type { Client } from '../store/client-metadata.ts'
import type { Grant } from '../store/grants.ts'
import type { User } from '../store/users.ts'
import { claimsAbout } from './claims.ts'
import type { Signer } from './signer.ts'
import { makeTokenId } from './token-id.ts'

export interface IssuedAccessToken {
  readonly token: string
  readonly tokenId: string
  /** Seconds, as `expires_in` tells it. */
  readonly lifetime: number
  readonly scopes: readonly string[]
}

/** For whom a token speaks: a person by a grant, or the client itself. */
export type Speaker = { readonly user: User; readonly grant: Grant } | undefined

export interface IdTokenParts {
  readonly client: Client
  readonly user: User
  readonly grant: Grant
  readonly nonce?: string | undefined
  /** The access token and the code that are issued beside it, for `at_hash` and `c_hash`. */
  readonly accessToken?: string | undefined
  readonly code?: string | undefined
  /** True when no access token is issued with which the claims of the scopes could be fetched (B-21). */
  readonly withScopeClaims?: boolean
}

export interface Issuer {
  readonly name: string
  accessToken(client: Client, scopes: readonly string[], speaker: Speaker): Promise<IssuedAccessToken>
  idToken(parts: IdTokenParts): Promise<string>
  logoutToken(client: Client, subject: string, sessionId: string): Promise<string>
}

export interface IssuerOptions {
  readonly name: string
  readonly signer: Signer
  readonly clock: Clock
  readonly accessTokenLifetimeMs: number
  /** Whether a browser session has ended: a token issued for offline use then no longer names it. */
  readonly sessionEnded: (sessionId: string) => boolean
}

const LOGOUT_TOKEN_SECONDS = 120
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

export function createIssuer({ name, signer, clock, accessTokenLifetimeMs, sessionEnded }: IssuerOptions): Issuer {
  const lifetimeOf = (client: Client) => client.accessTokenLifetime ?? seconds(accessTokenLifetimeMs)
  /** No token outlives its grant: once the grant is gone from the store, taking it back would not reach the token. */
  const leftOf = (speaker: Speaker, now: number) =>
    speaker === undefined ? [] : [Math.max(1, Math.ceil((speaker.grant.expiresAt - now) / 1000))]
  /** What is not for offline use keeps the name of its ended session, and is dead with it. */
  const sessionOf = ({ sessionId, scopes }: Grant) =>
    sessionId === undefined || (scopes.includes('offline_access') && sessionEnded(sessionId)) ? undefined : sessionId

  return {
    name,

    async accessToken(client, scopes, speaker) {
      const now = clock()
      const iat = seconds(now)
      const lifetime = Math.min(lifetimeOf(client), ...leftOf(speaker, now))
      const tokenId = makeTokenId(speaker?.grant.id, now)
      const audiences = audiencesOf(scopes)
      const token = await signer.sign('at+jwt', {
        iss: name,
        sub: speaker?.user.id ?? client.id,
        aud: audiences.length > 1 ? audiences : (audiences[0] ?? IDENTITY_AUDIENCE),
        client_id: client.id,
        scope: scopes.join(' '),
        iat,
        nbf: iat,
        exp: iat + lifetime,
        jti: tokenId,
        ...(speaker === undefined
          ? {}
          : {
              auth_time: seconds(speaker.grant.authTime),
              sid: sessionOf(speaker.grant),
              amr: speaker.grant.details.amr,
              acr: speaker.grant.details.acr,
              role: speaker.user.roles,
            }),
      })
      return { token, tokenId, lifetime, scopes }
    },

    idToken({ client, user, grant, nonce, accessToken, code, withScopeClaims = false }) {
      const iat = seconds(clock())
      return signer.sign('JWT', {
        iss: name,
        sub: user.id,
        aud: client.id,
        exp: iat + lifetimeOf(client),
        iat,
        auth_time: seconds(grant.authTime),
        nonce,
        acr: grant.details.acr,
        amr: grant.details.amr,
        sid: sessionOf(grant),
        at_hash: accessToken === undefined ? undefined : halfHash(accessToken),
        c_hash: code === undefined ? undefined : halfHash(code),
        ...claimsAbout(
          user,
          withScopeClaims || client.claimsInIdToken ? grant.scopes : [],
          grant.details.claims?.id_token,
        ),
      })
    },

    logoutToken(client, subject, sessionId) {
      const iat = seconds(clock())
      return signer.sign('logout+jwt', {
        iss: name,
        sub: subject,
        aud: client.id,
        iat,
        exp: iat + LOGOUT_TOKEN_SECONDS,
        jti: randomUUID(),
        sid: sessionId,
        events: { [LOGOUT_EVENT]: {} },
      })
    },
  }
}

/** OpenID Connect Core §3.1.3.6: the left half of the SHA-256 of the value. */
function halfHash(value: string): string {
  return hash('sha256', value, 'buffer').subarray(0, 16).toString('base64url')
}
