/** Checks an ID token as a careful relying party does (OpenID Connect Core §3.1.3.7, §3.2.2.11, §3.3.2.12). */
import assert from 'node:assert/strict'
import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'

export interface IdToken {
  readonly raw: string
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>> & { readonly sub: string }
}

export interface Expected {
  readonly issuer: string
  readonly jwksUri: string
  readonly clientId: string
  readonly nonce: string | undefined
  readonly now: number
}

const SKEW = 300
const YEAR = 365 * 86_400

export async function checkIdToken(raw: string, expected: Expected): Promise<IdToken> {
  const token = await checkJwt(raw, expected.jwksUri)
  const { claims } = token
  const now = Math.floor(expected.now / 1000)
  assert.equal(claims.iss, expected.issuer, 'iss')
  const audiences = [claims.aud].flat()
  assert.ok(audiences.includes(expected.clientId), `aud ${JSON.stringify(claims.aud)}`)
  assert.equal(claims.azp, audiences.length > 1 ? expected.clientId : undefined, 'azp')
  const { exp, iat, auth_time: authTime, sub } = claims
  assert.ok(isInteger(exp) && exp > now - SKEW && exp < now + 50 * YEAR, `exp ${exp}`)
  assert.ok(isInteger(iat) && Math.abs(iat - now) <= SKEW, `iat ${iat} at ${now}`)
  if (authTime !== undefined)
    assert.ok(isInteger(authTime) && authTime <= now + 1 && authTime > now - YEAR, `auth_time ${authTime}`)
  if (claims.acr !== undefined) assert.ok(typeof claims.acr === 'string' && claims.acr !== '', 'acr')
  assert.equal(claims.nonce, expected.nonce, 'nonce')
  assert.match(String(sub), /^[\x20-\x7e]{1,255}$/, 'sub')
  checkClaimTypes(claims)
  for (const name of Object.keys(claims)) assert.ok(KNOWN_CLAIMS.has(name), `a claim of nobody's standard: ${name}`)
  return { ...token, claims: { ...claims, sub: String(sub) } }
}

/** Signature by a published key whose kid, kty, alg and use fit; RS256 and nothing else. */
export async function checkJwt(
  raw: string,
  jwksUri: string,
): Promise<{ raw: string; header: Record<string, unknown>; claims: Record<string, unknown> }> {
  const [head = '', body = '', signature = ''] = raw.split('.')
  const header = decode(head)
  const claims = decode(body)
  assert.equal(header.alg, 'RS256', 'alg')
  assert.equal(typeof header.kid, 'string', 'kid')
  const key = await findKey(jwksUri, String(header.kid))
  assert.equal(key.kty, 'RSA')
  if (key.use !== undefined) assert.equal(key.use, 'sig')
  if (key.alg !== undefined) assert.equal(key.alg, 'RS256')
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    createPublicKey({ key, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  )
  assert.ok(isSigned, 'the signature does not fit the published key')
  return { raw, header, claims }
}

/** at_hash and c_hash: the left half of SHA-256, base64url without padding. */
export function halfHash(value: string): string {
  return createHash('sha256').update(value, 'ascii').digest().subarray(0, 16).toString('base64url')
}

export function checkClaimTypes(claims: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(claims)) {
    const type = CLAIM_TYPES[name]
    if (type === undefined) continue
    assert.equal(typeof value, type, `${name} is ${JSON.stringify(value)}`)
    if (type === 'string') assert.ok(value !== '' && value !== 'null', `${name} is ${JSON.stringify(value)}`)
  }
  if (claims.birthdate !== undefined) assert.match(String(claims.birthdate), /^\d{4}(-\d\d-\d\d)?$/)
}

const keys = new Map<string, JsonWebKey>()

async function findKey(jwksUri: string, kid: string): Promise<JsonWebKey> {
  const name = `${jwksUri} ${kid}`
  if (!keys.has(name)) {
    const response = await fetch(jwksUri)
    const set = (await response.json()) as { keys: (JsonWebKey & { kid: string })[] }
    for (const key of set.keys) keys.set(`${jwksUri} ${key.kid}`, key)
  }
  const key = keys.get(name)
  assert.ok(key, `no published key has the kid ${kid}`)
  return key
}

function decode(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
  assert.ok(typeof value === 'object' && value !== null)
  return { ...value }
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value)
}

const TEXT_CLAIMS = [
  'sub name given_name family_name middle_name nickname preferred_username profile picture website gender',
  'birthdate zoneinfo locale email phone_number',
]
  .join(' ')
  .split(' ')

const CLAIM_TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(TEXT_CLAIMS.map((name) => [name, 'string'])),
  email_verified: 'boolean',
  phone_number_verified: 'boolean',
  updated_at: 'number',
  address: 'object',
}

const KNOWN_CLAIMS: ReadonlySet<string> = new Set([
  ...Object.keys(CLAIM_TYPES),
  ...'iss aud exp iat auth_time nonce acr amr azp at_hash c_hash sid jti nbf'.split(' '),
])
