/** Issues access tokens (RFC 9068), ID tokens (OpenID Connect Core §2), logout tokens (Back-Channel Logout §2.4), signed responses and tokens for calls. */
import { hash, randomUUID } from 'node:crypto'
import {
  type Actor,
  type AncestorToken,
  type Clock,
  IDENTITY_AUDIENCE,
  type Principal,
  seconds,
} from 'gatehouse-protocol'
import type { SignatureAlg } from '../../lib/signature-algs.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Api } from '../../store/apis/apis.ts'
import type { Grant } from '../../store/authorizations/grants.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { pooledRandomBytes } from '../../store/keys/opaque.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { BUILT_IN_TARGET, type TokenTarget } from '../apis/targets.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import { refuse } from '../oauth-error.ts'
import { claimsAbout, claimsNamed, clientClaimsNamed } from './claims.ts'
import type { Signer } from './signer.ts'

export interface IssuedAccessToken {
  readonly token: string
  readonly tokenId: string
  /** Seconds, for `expires_in`. */
  readonly lifetime: number
  readonly scopes: readonly string[]
}

/** The user and grant that a token is issued for; undefined when the client acts for itself. */
export type OnBehalfOf = { readonly user: User; readonly grant: Grant } | undefined

export interface IdTokenParts {
  readonly client: Client
  readonly user: User
  readonly grant: Grant
  readonly nonce?: string | undefined
  /** The access token and the code issued with it, for `at_hash` and `c_hash`. */
  readonly accessToken?: string | undefined
  readonly code?: string | undefined
  /** Includes the claims of the scopes, because no access token is issued to fetch them with (B-21). */
  readonly withScopeClaims?: boolean
}

/** For a token from a token exchange (RFC 8693). */
export interface ExchangedFrom {
  readonly actor: Actor
  readonly ancestors: readonly AncestorToken[]
  /** The expiry of the token that it came from, in seconds: it does not outlive it. */
  readonly expiresAt: number
}

/** What an access token has besides client, scopes and user. */
export interface AccessTokenParts {
  readonly target?: TokenTarget | undefined
  readonly exchanged?: ExchangedFrom | undefined
  /** The thumbprint of the key that it is bound to (RFC 9449 §6.1). */
  readonly boundKey?: string | undefined
}

export type Issuer = ReturnType<typeof createIssuer>

export interface IssuerOptions {
  readonly name: string
  readonly signer: Signer
  readonly apis: Pick<ApiRegistry, 'known' | 'find'>
  readonly attributes: Pick<AttributeDirectory, 'claims'>
  readonly clock: Clock
  /** The lifetime of access tokens, unless their client has its own. */
  readonly lifetimes: { readonly accessTokenMs: number }
  /** Whether a browser session has ended. */
  readonly sessionEnded: (sessionId: string) => boolean
}

const LOGOUT_TOKEN_SECONDS = 120
const CALL_TOKEN_SECONDS = 60
const AGENT_TOKEN_SECONDS = 900
const AUTHORIZATION_RESPONSE_SECONDS = 60
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

export function createIssuer({ name, signer, apis, attributes, clock, lifetimes, sessionEnded }: IssuerOptions) {
  const chooseLifetime = (client: Client) => client.accessTokenLifetime ?? seconds(lifetimes.accessTokenMs)
  /** The least of API, client and server. */
  const lifetimeFor = ({ accessTokenLifetime = Number.POSITIVE_INFINITY }: Api, client: Client) =>
    Math.min(accessTokenLifetime, chooseLifetime(client), seconds(lifetimes.accessTokenMs))
  /** No token outlives its grant: a grant that has been deleted can no longer be revoked. */
  const grantSecondsLeft = ({ expiresAt }: Grant, now: number) => Math.max(1, Math.ceil((expiresAt - now) / 1000))
  /** With offline access a token outlives its session and then no longer names it; without, it ends with the session. */
  const namedSession = ({ sessionId, scopes }: Grant) =>
    sessionId === undefined || (scopes.includes('offline_access') && sessionEnded(sessionId)) ? undefined : sessionId

  return {
    name,

    async accessToken(
      client: Client,
      scopes: readonly string[],
      onBehalfOf: OnBehalfOf,
      { target: { resource } = BUILT_IN_TARGET, exchanged, boundKey }: AccessTokenParts = {},
    ): Promise<IssuedAccessToken> {
      const now = clock()
      const iat = seconds(now)
      const isOfAgents = resource !== undefined && resource === apis.known().agents?.resource
      const api = resource === undefined || isOfAgents ? undefined : apis.find(resource)
      // Removed since the target was chosen: its tokens must not become tokens for the built-in services.
      if (resource !== undefined && api === undefined && !isOfAgents)
        throw refuse('invalid_target', 'The resource was removed')
      const ofServer = isOfAgents ? Math.min(AGENT_TOKEN_SECONDS, chooseLifetime(client)) : chooseLifetime(client)
      const longest = api === undefined ? ofServer : lifetimeFor(api, client)
      const ofGrant = onBehalfOf === undefined ? longest : Math.min(longest, grantSecondsLeft(onBehalfOf.grant, now))
      const lifetime = exchanged === undefined ? ofGrant : Math.min(ofGrant, exchanged.expiresAt - iat)
      const tokenId = createTokenId(onBehalfOf?.grant.id, now)
      const ofBuiltIn = isOfAgents ? [resource] : apis.known().findAudiences(scopes)
      const audiences = api === undefined ? ofBuiltIn : audiencesFor(api, scopes)
      const token = await signer.sign('at+jwt', client.accessTokenAlg ?? signer.fapiAlg(), {
        iss: name,
        sub: onBehalfOf?.user.id ?? client.id,
        aud: audiences.length > 1 ? audiences : (audiences[0] ?? IDENTITY_AUDIENCE),
        client_id: client.id,
        scope: scopes.join(' '),
        iat,
        nbf: iat,
        exp: iat + lifetime,
        jti: tokenId,
        cnf: boundKey === undefined ? undefined : { jkt: boundKey },
        ...(exchanged && { act: exchanged.actor, ancestors: exchanged.ancestors.map(writeAncestor) }),
        ...(onBehalfOf === undefined
          ? api && clientClaimsNamed(api.claims, client, attributes.claims())
          : {
              auth_time: seconds(onBehalfOf.grant.authTime),
              sid: namedSession(onBehalfOf.grant),
              amr: onBehalfOf.grant.details.amr,
              acr: onBehalfOf.grant.details.acr,
              // Agents are programs of others: they need not know the roles of their users.
              ...(isOfAgents
                ? {}
                : api === undefined
                  ? { role: onBehalfOf.user.roles }
                  : claimsNamed(api.claims, onBehalfOf.user, attributes.claims())),
            }),
      })
      return { token, tokenId, lifetime, scopes }
    },

    idToken({ client, user, grant, nonce, accessToken, code, withScopeClaims = false }: IdTokenParts): Promise<string> {
      const iat = seconds(clock())
      const alg = client.idTokenAlg ?? signer.fapiAlg()
      return signer.sign('JWT', alg, {
        iss: name,
        sub: user.id,
        aud: client.id,
        exp: iat + chooseLifetime(client),
        iat,
        auth_time: seconds(grant.authTime),
        nonce,
        acr: grant.details.acr,
        amr: grant.details.amr,
        sid: needsSession(client) ? namedSession(grant) : undefined,
        at_hash: accessToken === undefined ? undefined : halfHash(accessToken, alg),
        c_hash: code === undefined ? undefined : halfHash(code, alg),
        ...claimsAbout(
          user,
          attributes.claims(),
          withScopeClaims || client.claimsInIdToken ? grant.scopes : [],
          grant.details.claims?.id_token,
        ),
      })
    },

    logoutToken(client: Client, subject: string, sessionId: string): Promise<string> {
      const iat = seconds(clock())
      return signer.sign('logout+jwt', client.idTokenAlg ?? signer.fapiAlg(), {
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

    /** An authorization response as a JWT (JARM §2.1). Without `sub` it does not pass for an ID token. */
    authorizationResponse(client: Client, parameters: Readonly<Record<string, string | undefined>>): Promise<string> {
      const exp = seconds(clock()) + AUTHORIZATION_RESPONSE_SECONDS
      return signer.sign('JWT', client.responseAlg ?? signer.fapiAlg(), {
        ...parameters,
        iss: name,
        aud: client.id,
        exp,
      })
    },

    /** RFC 9701 §5: `sub` and `exp` are left out next to `iss`, so that it cannot be mistaken for an access token. */
    introspectionResponse(client: Client, description: object): Promise<string> {
      return signer.sign('token-introspection+jwt', client.introspectionAlg ?? signer.fapiAlg(), {
        iss: name,
        aud: client.id,
        iat: seconds(clock()),
        token_introspection: description,
      })
    },

    /**
     * For one call of a remote controller, on behalf of a caller. Its type and audience keep it from being accepted as an access token or
     * an ID token (RFC 8725 §3.11).
     */
    callToken(url: string, { subject, clientId, scopes, roles }: Principal, requestId: string): Promise<string> {
      const iat = seconds(clock())
      return signer.sign('call+jwt', 'RS256', {
        iss: name,
        sub: subject,
        aud: url,
        client_id: clientId,
        scope: [...scopes].join(' '),
        role: roles,
        iat,
        nbf: iat,
        exp: iat + CALL_TOKEN_SECONDS,
        jti: requestId,
      })
    },
  }
}

/** With the FAPI profile, tokens have no claims that were not asked for: only clients with a logout URI need the session. */
function needsSession({ profile, frontchannelLogoutUri, backchannelLogoutUri }: Client): boolean {
  return profile !== 'fapi2' || frontchannelLogoutUri !== undefined || backchannelLogoutUri !== undefined
}

function writeAncestor({ tokenId, clientId, issuedAt, keyId }: AncestorToken) {
  return { jti: tokenId, client_id: clientId, iat: Math.floor(issuedAt), kid: keyId }
}

/** With `openid` the token is good for userinfo too, and for nothing else of the built-in services. */
function audiencesFor({ resource }: Api, scopes: readonly string[]): readonly string[] {
  return scopes.includes('openid') ? [resource, IDENTITY_AUDIENCE] : [resource]
}

/** OpenID Connect Core §3.1.3.6: the left half of the value's hash, by the algorithm of the ID token; that of Ed25519 is SHA-512. */
function halfHash(value: string, alg: SignatureAlg): string {
  const digest = hash(alg === 'EdDSA' ? 'sha512' : 'sha256', value, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

const RANDOM_BYTES = 16
const TOKEN_ID = /^(?:([A-Za-z0-9_-]{22})\.)?([A-Za-z0-9_-]{24})$/

/**
 * The `jti` of an access token: unguessable, with the grant and the milliseconds of the issue time. `iat` counts seconds
 * (RFC 7519 §2), which is too coarse to revoke everything issued up to now.
 */
export function createTokenId(grantId: string | undefined, issuedAtMs: number): string {
  const bytes = pooledRandomBytes(RANDOM_BYTES + 2)
  bytes.writeUInt16BE(issuedAtMs % 1000, RANDOM_BYTES)
  const serial = bytes.toString('base64url')
  return grantId === undefined ? serial : `${grantId}.${serial}`
}

export function readTokenId(tokenId: string): { grantId: string | undefined; milliseconds: number } | undefined {
  const match = TOKEN_ID.exec(tokenId)
  if (match === null) return undefined
  return { grantId: match[1], milliseconds: Buffer.from(match[2] ?? '', 'base64url').readUInt16BE(RANDOM_BYTES) }
}
