/** Access tokens for tests of a part without the identity server: RS256 with a separate key, and real verification. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { type Authenticate, type Clock, scopeAudiences } from 'gatehouse-protocol'
import { jwtVerify, SignJWT } from 'jose'

export interface TokenWishes {
  readonly subject?: string
  readonly clientId?: string
  readonly scopes?: readonly string[]
  readonly audiences?: readonly string[]
  readonly issuer?: string
  readonly type?: string
  /** Seconds from now. */
  readonly lifetime?: number
  readonly tokenId?: string
  readonly grantId?: string
  readonly sessionId?: string
  readonly displayName?: string
}

export interface TokenMint {
  readonly authenticate: Authenticate
  readonly publicKeyPem: string
  issue(wishes?: TokenWishes): Promise<string>
}

const ISSUER = 'https://issuer.test'
/** Names the key of these tokens, also in the event that withdraws it. */
export const KEY_ID = 'key-1'

/** One pair for the process: making it takes longer than most tests. */
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

export function createTokenMint(clock: Clock): TokenMint {
  return {
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    async issue(wishes = {}) {
      const {
        subject = 'alice',
        clientId = 'demo-cli',
        scopes = ['openid', 'Platform/Market', 'offline_access'],
      } = wishes
      const now = Math.floor(clock() / 1000)
      return new SignJWT({
        client_id: clientId,
        scope: scopes.join(' '),
        sid: wishes.sessionId,
        grant: wishes.grantId,
        name: wishes.displayName ?? 'Alice Liddell',
        preferred_username: subject,
      })
        .setProtectedHeader({ alg: 'RS256', typ: wishes.type ?? 'at+jwt' })
        .setIssuer(wishes.issuer ?? ISSUER)
        .setSubject(subject)
        .setAudience([...(wishes.audiences ?? scopeAudiences(scopes))])
        .setJti(wishes.tokenId ?? randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + (wishes.lifetime ?? 3600))
        .sign(privateKey)
    },
    async authenticate(accessToken) {
      try {
        const { payload } = await jwtVerify(accessToken, publicKey, {
          algorithms: ['RS256'],
          issuer: ISSUER,
          typ: 'at+jwt',
          currentDate: new Date(clock()),
        })
        const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
        return {
          subject: payload.sub ?? '',
          kind: 'user',
          clientId: text(payload.client_id) ?? '',
          scopes: new Set((text(payload.scope) ?? '').split(' ')),
          roles: [],
          audiences: [payload.aud ?? []].flat(),
          tokenId: payload.jti ?? '',
          keyId: KEY_ID,
          sessionId: text(payload.sid),
          grantId: text(payload.grant),
          username: text(payload.preferred_username),
          displayName: text(payload.name),
          issuedAt: payload.iat ?? 0,
          expiresAt: payload.exp ?? 0,
          authTime: undefined,
        }
      } catch {
        return undefined
      }
    },
  }
}
