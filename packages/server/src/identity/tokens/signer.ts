/** Signs and verifies our JWTs with RS256 and rotating keys. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { TurnQueue } from '../../lib/turns.ts'
import {
  isPublished,
  isWithdrawn,
  type KeyRotationOptions,
  openPrivateKey,
  rotateDueKeys,
  signingKeyOf,
} from '../../store/keys/key-rotation.ts'
import type { StoredKey } from '../../store/keys/signing-keys.ts'
import { type Claims, isSignedBy, parseJwt } from './jwt.ts'

/** The `typ` header keeps one kind of token from being accepted as another (RFC 9068 §2.1, Back-Channel Logout §2.4). */
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
  /** The claims of a token of this type that one of our keys signed. The caller checks expiry and audience. */
  verify(type: TokenType, token: string): Promise<SignedByUs | undefined>
  /** Returns the same object until the keys change or a second has passed. */
  jwks(): Jwks
  close(): void
}

export interface SignedByUs {
  readonly claims: Claims
  readonly keyId: string
}

export interface SignerOptions extends KeyRotationOptions {
  readonly clock: Clock
  readonly bus: Bus
  readonly audit: Audit
  readonly onError: (error: unknown) => void
}

const ROTATION_CHECK_MS = 60_000
/** Keys are also published, used and removed by the passing of time. */
const IN_USE_MS = 1_000

interface PrivateKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** The state derived from the stored keys at a point in time. */
interface KeysInUse {
  readonly from: readonly StoredKey[]
  readonly at: number
  readonly jwks: Jwks
  readonly signing: PrivateKey | undefined
}

export async function openSigner(options: SignerOptions): Promise<Signer> {
  const { keys, sealingKey, clock, bus, audit, onError } = options
  let stored: readonly StoredKey[] = []
  let inUse: KeysInUse | undefined
  const privateKeys = new Map<string, KeyObject>()
  const publicKeys = new Map<string, KeyObject>()
  const withdrawn = new Set<string>()
  /**
   * Many new tokens at once, as after a restart, take turns with other requests. On two cores a thread for them was not faster: about
   * 10,000 sign-ins per second with it and without it (decision 14).
   */
  const checks = new TurnQueue()
  let loading: Promise<void> = Promise.resolve()
  await rotate()
  if (stored.length === 0) await reload()

  const unsubscribe = bus.subscribe((event) => {
    if (event.kind !== 'keys-changed') return
    // Drop the withdrawn key before reloading: no token that it signed is accepted in the meantime.
    if (event.withdrawn !== undefined) drop(event.withdrawn)
    reload().catch(onError)
  })
  const timer = setInterval(() => rotate().catch(onError), ROTATION_CHECK_MS)
  timer.unref()

  return {
    async sign(type, claims) {
      const { kid, privateKey } = keysInUse().signing ?? (await reloadSigningKey())
      const input = `${encoded({ alg: 'RS256', typ: type, kid })}.${encoded(claims)}`
      return `${input}.${await signOnPool(input, privateKey)}`
    },
    async verify(type, token) {
      const jwt = parseJwt(token)
      if (jwt === undefined || jwt.header.alg !== 'RS256' || jwt.header.typ !== type) return undefined
      // RFC 7515 §4.1.11: we implement no extensions, so none may be critical.
      if ('crit' in jwt.header || typeof jwt.header.kid !== 'string') return undefined
      const { kid } = jwt.header
      const key = publicKeys.get(kid)
      if (key === undefined) return undefined
      const isValid = await checks.run(() => isSignedBy(token, key))
      // The key may have been withdrawn in the meantime.
      return isValid && publicKeys.get(kid) === key ? { claims: jwt.claims, keyId: kid } : undefined
    },
    jwks: () => keysInUse().jwks,
    close() {
      clearInterval(timer)
      unsubscribe()
    },
  }

  function keysInUse(): KeysInUse {
    const now = clock()
    if (inUse?.from !== stored || Math.abs(now - inUse.at) >= IN_USE_MS) {
      const keys = stored.filter((key) => isPublished(key, now)).map(toPublishedKey)
      const { kid = '' } = signingKeyOf(stored, now) ?? {}
      const privateKey = privateKeys.get(kid)
      inUse = { from: stored, at: now, jwks: { keys }, signing: privateKey && { kid, privateKey } }
    }
    return inUse
  }

  /** Used when the signing key was withdrawn and its successor is not loaded yet. */
  async function reloadSigningKey(): Promise<PrivateKey> {
    await reload()
    const { signing } = keysInUse()
    if (signing === undefined) throw new Error('There is no signing key')
    return signing
  }

  async function rotate(): Promise<void> {
    const { created, retired } = await rotateDueKeys(options, clock())
    for (const { kid, activeFrom } of created) {
      audit.record({ event: 'key.created', target: kid, details: { kid, active_from: activeFrom } })
    }
    for (const kid of retired) audit.record({ event: 'key.retired', target: kid, details: { kid } })
    if (created.length + retired.length === 0 && stored.length > 0) return
    await reload()
    if (created.length + retired.length > 0) await bus.publish({ kind: 'keys-changed' })
  }

  /** One at a time: an older list must not replace a newer one. */
  function reload(): Promise<void> {
    loading = loading.catch(() => {}).then(load)
    return loading
  }

  async function load(): Promise<void> {
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

  /** Permanent: a list that was read before the withdrawal still contains the key. */
  function drop(kid: string): void {
    withdrawn.add(kid)
    stored = stored.filter((key) => key.kid !== kid)
    publicKeys.delete(kid)
    privateKeys.delete(kid)
  }
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** With a callback, Node signs on its thread pool and does not block the event loop. */
function signOnPool(input: string, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) => {
    sign('sha256', Buffer.from(input), key, (error, signature) =>
      error === null ? resolve(signature.toString('base64url')) : reject(error),
    )
  })
}

function toPublishedKey({ kid, publicJwk }: StoredKey): PublishedKey {
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: publicJwk.n ?? '', e: publicJwk.e ?? '' }
}
