/** Signs and verifies our JWTs: RS256 and nothing else, beside the event loop, with keys that rotate. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Bus } from '../events/bus.ts'
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import { isPublished, isWithdrawn, type KeyTending, SEALED_KEY, signingKeyOf, tendKeys } from '../store/key-rotation.ts'
import { unseal } from '../store/opaque.ts'
import type { StoredKey } from '../store/signing-keys.ts'
import { type Claims, parseJwt } from './jwt.ts'
import { createVerifier } from './verifier.ts'

/** The `typ` of each kind of token, so that none passes for another (RFC 9068 §2.1, Back-Channel Logout §2.4). */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt'

export interface PublishedKey {
  readonly kty: string
  readonly use: 'sig'
  readonly alg: 'RS256'
  readonly kid: string
  readonly n: string
  readonly e: string
}

export interface Jwks {
  readonly keys: readonly PublishedKey[]
}

export interface Signer {
  sign(type: TokenType, claims: Claims): Promise<string>
  /** What a token of that type says which one of our keys signed; expiry and purpose are the caller's to check. */
  verify(type: TokenType, token: string): Promise<SignedByUs | undefined>
  /** The same object while nothing changes, for up to a second. */
  jwks(): Jwks
  /** Rotates what is due; a timer does it too. */
  tend(): Promise<void>
  close(): void
}

export interface SignedByUs {
  readonly claims: Claims
  readonly keyId: string
}

export interface SignerOptions extends KeyTending {
  readonly clock: Clock
  readonly bus: Bus
  readonly audit: Audit
  readonly onError: (error: unknown) => void
}

export class WrongMasterKey extends Error {
  override name = 'WrongMasterKey'
}

const TEND_EVERY_MS = 60_000
/** Time alone publishes and retires keys, to the second. */
const LOOK_AGAIN_MS = 1_000

export async function openSigner(options: SignerOptions): Promise<Signer> {
  const { keys, sealingKey, clock, bus, audit, onError } = options
  let stored: readonly StoredKey[] = []
  let published: { readonly from: readonly StoredKey[]; readonly jwks: Jwks; readonly at: number } | undefined
  const privateKeys = new Map<string, KeyObject>()
  const publicKeys = new Map<string, KeyObject>()
  const withdrawn = new Set<string>()
  const verifier = createVerifier({ onError })
  let reading: Promise<void> = Promise.resolve()
  await tend()
  if (stored.length === 0) await reload()

  const unsubscribe = bus.subscribe((event) => {
    if (event.kind !== 'keys-changed') return
    // What is withdrawn goes before anything is read: no token that it signed passes meanwhile.
    if (event.withdrawn !== undefined) drop(event.withdrawn)
    reload().catch(onError)
  })
  const timer = setInterval(() => tend().catch(onError), TEND_EVERY_MS)
  timer.unref()

  return {
    async sign(type, claims) {
      const { kid, privateKey } = signingKey() ?? (await firstOfReloaded())
      const input = `${headerOf(type, kid)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      return `${input}.${await signOnPool(input, privateKey)}`
    },
    async verify(type, token) {
      const jwt = parseJwt(token)
      if (jwt === undefined || jwt.header.alg !== 'RS256' || jwt.header.typ !== type) return undefined
      // RFC 7515 §4.1.11: we understand no extension, so none may be critical.
      if ('crit' in jwt.header || typeof jwt.header.kid !== 'string') return undefined
      const { kid } = jwt.header
      const key = publicKeys.get(kid)
      if (key === undefined) return undefined
      const isGood = await verifier.verify(token, key)
      // It may have been withdrawn in that time.
      return isGood && publicKeys.get(kid) === key ? { claims: jwt.claims, keyId: kid } : undefined
    },
    jwks() {
      const now = clock()
      if (published?.from !== stored || Math.abs(now - published.at) >= LOOK_AGAIN_MS) {
        const keys = stored.filter((key) => isPublished(key, now)).map(publishedForm)
        published = { from: stored, jwks: { keys }, at: now }
      }
      return published.jwks
    },
    tend,
    close() {
      clearInterval(timer)
      unsubscribe()
      verifier.close().catch(onError)
    },
  }

  function signingKey(): { kid: string; privateKey: KeyObject } | undefined {
    const key = signingKeyOf(stored, clock())
    const privateKey = key === undefined ? undefined : privateKeys.get(key.kid)
    return key === undefined || privateKey === undefined ? undefined : { kid: key.kid, privateKey }
  }

  /** The key that signed was withdrawn, and its successor is not read yet. */
  async function firstOfReloaded(): Promise<{ kid: string; privateKey: KeyObject }> {
    await reload()
    const key = signingKey()
    if (key === undefined) throw new Error('There is no key to sign with')
    return key
  }

  async function tend(): Promise<void> {
    const { created, retired } = await tendKeys(options, clock())
    for (const { kid, activeFrom } of created) {
      audit.record({ event: 'key.created', target: kid, details: { kid, active_from: activeFrom } })
    }
    for (const kid of retired) audit.record({ event: 'key.retired', target: kid, details: { kid } })
    if (created.length + retired.length === 0 && stored.length > 0) return
    await reload()
    if (created.length + retired.length > 0) await bus.publish({ kind: 'keys-changed' })
  }

  /** One after the other: what was read first must not replace what was read last. */
  function reload(): Promise<void> {
    reading = reading.catch(() => {}).then(read)
    return reading
  }

  async function read(): Promise<void> {
    const listed = await keys.list()
    for (const key of listed) if (isWithdrawn(key)) drop(key.kid)
    stored = listed.filter(({ kid }) => !withdrawn.has(kid))
    for (const { kid, publicJwk, sealedPrivateKey } of stored) {
      if (!publicKeys.has(kid)) publicKeys.set(kid, createPublicKey({ key: publicJwk, format: 'jwk' }))
      if (sealedPrivateKey !== '' && !privateKeys.has(kid)) {
        privateKeys.set(kid, openPrivateKey(sealedPrivateKey, sealingKey))
      }
    }
    for (const kid of publicKeys.keys()) if (!stored.some((key) => key.kid === kid)) publicKeys.delete(kid)
  }

  /** For good: a list that was read before the withdrawal still names it. */
  function drop(kid: string): void {
    withdrawn.add(kid)
    stored = stored.filter((key) => key.kid !== kid)
    publicKeys.delete(kid)
    privateKeys.delete(kid)
  }
}

function openPrivateKey(sealed: string, sealingKey: Buffer): KeyObject {
  let der: Buffer
  try {
    der = unseal(sealed, sealingKey, SEALED_KEY)
  } catch {
    throw new WrongMasterKey(
      'The signing keys were sealed under another master key: set GATEHOUSE_MASTER_KEY as it was when they were made, or bring back master.key in the data folder.',
    )
  }
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

const headers = new Map<string, string>()

/** Few and always the same: one for each key and type. */
function headerOf(typ: TokenType, kid: string): string {
  const name = `${typ} ${kid}`
  let header = headers.get(name)
  if (header === undefined) {
    header = Buffer.from(JSON.stringify({ alg: 'RS256', typ, kid })).toString('base64url')
    headers.set(name, header)
  }
  return header
}

/** With a callback Node signs on its thread pool: the event loop goes on. */
function signOnPool(input: string, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) => {
    sign('sha256', Buffer.from(input), key, (error, signature) =>
      error === null ? resolve(signature.toString('base64url')) : reject(error),
    )
  })
}

function publishedForm({ kid, publicJwk }: StoredKey): PublishedKey {
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: publicJwk.n ?? '', e: publicJwk.e ?? '' }
}
