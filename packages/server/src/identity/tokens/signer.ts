/** Signs and verifies our JWTs with RS256 and rotating keys, off the event loop. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import {
  isPublished,
  isWithdrawn,
  type KeyRotationOptions,
  openPrivateKey,
  rotateDueKeys,
  signingKeyOf,
} from '../../store/keys/key-rotation.ts'
import type { StoredKey } from '../../store/keys/signing-keys.ts'
import { type Claims, parseJwt } from './jwt.ts'
import { createVerifier } from './verifier.ts'

/** The `typ` header keeps one kind of token from being accepted as another (RFC 9068 §2.1, Back-Channel Logout §2.4). */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt' | 'call+jwt'

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

export type Signer = Awaited<ReturnType<typeof openSigner>>

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

export async function openSigner(options: SignerOptions) {
  const { clock, bus, audit, onError } = options
  const loaded = new LoadedKeys(options)
  const verifier = createVerifier({ onError })
  await rotate()
  if (loaded.isEmpty) await loaded.reload()

  const unsubscribe = bus.subscribe((event) => {
    if (event.kind !== 'keys-changed') return
    // Drop the withdrawn key before reloading: no token that it signed is accepted in the meantime.
    if (event.withdrawn !== undefined) loaded.drop(event.withdrawn)
    loaded.reload().catch(onError)
  })
  const timer = setInterval(() => rotate().catch(onError), ROTATION_CHECK_MS)
  timer.unref()

  return {
    async sign(type: TokenType, claims: Claims): Promise<string> {
      const { kid, privateKey } = loaded.inUse().signing ?? (await loaded.reloadSigningKey())
      const input = `${encoded({ alg: 'RS256', typ: type, kid })}.${encoded(claims)}`
      return `${input}.${await signOnPool(input, privateKey)}`
    },

    /** The claims of a token of this type that one of our keys signed. The caller checks expiry and audience. */
    async verify(type: TokenType, token: string): Promise<SignedByUs | undefined> {
      const jwt = parseJwt(token)
      if (jwt === undefined || jwt.header.alg !== 'RS256' || jwt.header.typ !== type) return undefined
      // RFC 7515 §4.1.11: we implement no extensions, so none may be critical.
      if ('crit' in jwt.header || typeof jwt.header.kid !== 'string') return undefined
      const { kid } = jwt.header
      const key = loaded.publicKey(kid)
      if (key === undefined) return undefined
      const isValid = await verifier.verify(token, key)
      // The key may have been withdrawn in the meantime.
      return isValid && loaded.publicKey(kid) === key ? { claims: jwt.claims, keyId: kid } : undefined
    },

    /** Returns the same object until the keys change or a second has passed. */
    jwks: (): Jwks => loaded.inUse().jwks,

    close() {
      clearInterval(timer)
      unsubscribe()
      verifier.close().catch(onError)
    },
  }

  async function rotate(): Promise<void> {
    const { created, retired } = await rotateDueKeys(options, clock())
    for (const { kid, activeFrom } of created)
      audit.record({ event: 'key.created', target: kid, details: { kid, active_from: activeFrom } })
    for (const kid of retired) audit.record({ event: 'key.retired', target: kid, details: { kid } })
    if (created.length + retired.length === 0 && !loaded.isEmpty) return
    await loaded.reload()
    if (created.length + retired.length > 0) await bus.publish({ kind: 'keys-changed' })
  }
}

/** The stored keys in memory, without withdrawn keys. */
class LoadedKeys {
  readonly #options: SignerOptions
  #stored: readonly StoredKey[] = []
  #inUse: KeysInUse | undefined
  #loading: Promise<void> = Promise.resolve()
  readonly #privateKeys = new Map<string, KeyObject>()
  readonly #publicKeys = new Map<string, KeyObject>()
  readonly #withdrawn = new Set<string>()

  constructor(options: SignerOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#stored.length === 0
  }

  publicKey(kid: string): KeyObject | undefined {
    return this.#publicKeys.get(kid)
  }

  inUse(): KeysInUse {
    const now = this.#options.clock()
    const stored = this.#stored
    if (this.#inUse?.from !== stored || Math.abs(now - this.#inUse.at) >= IN_USE_MS) {
      const keys = stored.filter((key) => isPublished(key, now)).map(toPublishedKey)
      const { kid = '' } = signingKeyOf(stored, now) ?? {}
      const privateKey = this.#privateKeys.get(kid)
      this.#inUse = { from: stored, at: now, jwks: { keys }, signing: privateKey && { kid, privateKey } }
    }
    return this.#inUse
  }

  /** Used when the signing key was withdrawn and its successor is not loaded yet. */
  async reloadSigningKey(): Promise<PrivateKey> {
    await this.reload()
    const { signing } = this.inUse()
    if (signing === undefined) throw new Error('There is no signing key')
    return signing
  }

  /** One at a time: an older list must not replace a newer one. */
  reload(): Promise<void> {
    this.#loading = this.#loading.catch(() => {}).then(() => this.#load())
    return this.#loading
  }

  /** Permanent: a list that was read before the withdrawal still contains the key. */
  drop(kid: string): void {
    this.#withdrawn.add(kid)
    this.#stored = this.#stored.filter((key) => key.kid !== kid)
    this.#publicKeys.delete(kid)
    this.#privateKeys.delete(kid)
  }

  async #load(): Promise<void> {
    const { keys, sealingKey } = this.#options
    const listed = await keys.list()
    for (const key of listed) if (isWithdrawn(key)) this.drop(key.kid)
    this.#stored = listed.filter(({ kid }) => !this.#withdrawn.has(kid))
    for (const { kid, publicJwk, sealedPrivateKey } of this.#stored) {
      if (!this.#publicKeys.has(kid)) this.#publicKeys.set(kid, createPublicKey({ key: publicJwk, format: 'jwk' }))
      if (sealedPrivateKey !== '' && !this.#privateKeys.has(kid))
        this.#privateKeys.set(kid, openPrivateKey(sealedPrivateKey, sealingKey))
    }
    for (const kid of this.#publicKeys.keys())
      if (!this.#stored.some((key) => key.kid === kid)) this.#publicKeys.delete(kid)
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
