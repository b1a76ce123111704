/** Signs and verifies our JWTs with rotating keys. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { type Audit, type Clock, Refusal } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { createSignature, FAPI_ALGS, SIGNATURE_ALGS, type SignatureAlg } from '../../lib/signature-algs.ts'
import {
  chooseSigningKeys,
  isPublished,
  isWithdrawn,
  type KeyRotationOptions,
  openPrivateKey,
  rotateDueKeys,
} from '../../store/keys/key-rotation.ts'
import type { StoredKey } from '../../store/keys/signing-keys.ts'
import { type Claims, parseJwt } from './jwt.ts'
import { createVerifier, type VerificationKey } from './verifier.ts'

/** The `typ` header keeps one kind of token from being accepted as another (RFC 9068 §2.1, Back-Channel Logout §2.4, RFC 9701 §5). */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt' | 'call+jwt' | 'token-introspection+jwt'

/** With the members of its type: n and e, or crv, x and y. */
export type PublishedKey = Readonly<Record<string, string | undefined>> & {
  readonly use: 'sig'
  readonly alg: SignatureAlg
  readonly kid: string
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
  /** The names of running nodes that would sign with any key that they find. */
  readonly olderNodes?: () => Promise<readonly string[]>
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
  readonly signing: ReadonlyMap<SignatureAlg, PrivateKey>
  readonly algs: readonly SignatureAlg[]
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
    async sign(type: TokenType, alg: SignatureAlg, claims: Claims): Promise<string> {
      const { kid, privateKey } = loaded.inUse().signing.get(alg) ?? (await loaded.reloadSigningKey(alg))
      const input = `${encoded({ alg, typ: type, kid })}.${encoded(claims)}`
      const signature = await createSignature(alg, privateKey, Buffer.from(input))
      return `${input}.${signature.toString('base64url')}`
    },

    /** The claims of a token of this type that one of our keys signed. The caller checks expiry and audience. */
    async verify(type: TokenType, token: string): Promise<SignedByUs | undefined> {
      const jwt = parseJwt(token)
      if (jwt === undefined || jwt.header.typ !== type) return undefined
      // RFC 7515 §4.1.11: we implement no extensions, so none may be critical.
      if ('crit' in jwt.header || typeof jwt.header.kid !== 'string') return undefined
      const { kid } = jwt.header
      const ours = loaded.publicKey(kid)
      // RFC 8725 §3.1: each key is used with its own algorithm.
      if (ours === undefined || jwt.header.alg !== ours.alg) return undefined
      const isValid = await verifier.verify(token, ours)
      // The key may have been withdrawn in the meantime.
      return isValid && loaded.publicKey(kid) === ours ? { claims: jwt.claims, keyId: kid } : undefined
    },

    /** Of tokens for clients with the FAPI profile that choose none: the first of its algorithms in the setting. */
    fapiAlg(): SignatureAlg {
      return options.algs?.find((alg) => FAPI_ALGS.includes(alg)) ?? 'PS256'
    },

    /** Throws while there is no key that signs with the algorithm: one that is new is published first. */
    async requireKey(alg: SignatureAlg): Promise<void> {
      if (!loaded.inUse().signing.has(alg)) await loaded.reloadSigningKey(alg)
    },

    /** Whether tokens of this key are accepted. */
    hasKey: (kid: string): boolean => loaded.publicKey(kid) !== undefined,

    /** Returns the same object until the keys change or a second has passed. */
    jwks: (): Jwks => loaded.inUse().jwks,

    /** The algorithms that it signs with now. Returns the same object as long as `jwks` does. */
    algs: (): readonly SignatureAlg[] => loaded.inUse().algs,

    close() {
      clearInterval(timer)
      unsubscribe()
      verifier.close().catch(onError)
    },
  }

  async function mayAddRings(): Promise<boolean> {
    const { algs = [], olderNodes } = options
    return algs.length <= 1 || olderNodes === undefined || (await olderNodes()).length === 0
  }

  async function rotate(): Promise<void> {
    const { created, retired } = await rotateDueKeys({ ...options, mayAddRings: await mayAddRings() }, clock())
    for (const { kid, alg, activeFrom } of created)
      audit.record({ event: 'key.created', target: kid, details: { kid, alg, active_from: activeFrom } })
    for (const { kid } of retired) audit.record({ event: 'key.retired', target: kid, details: { kid } })
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
  readonly #publicKeys = new Map<string, VerificationKey>()
  readonly #withdrawn = new Set<string>()

  constructor(options: SignerOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#stored.length === 0
  }

  publicKey(kid: string): VerificationKey | undefined {
    return this.#publicKeys.get(kid)
  }

  inUse(): KeysInUse {
    const now = this.#options.clock()
    const stored = this.#stored
    if (this.#inUse?.from !== stored || Math.abs(now - this.#inUse.at) >= IN_USE_MS) {
      const keys = stored.filter((key) => isPublished(key, now)).map(toPublishedKey)
      const signing = this.#signing(now)
      const algs = SIGNATURE_ALGS.filter((alg) => signing.has(alg))
      this.#inUse = { from: stored, at: now, jwks: { keys }, signing, algs }
    }
    return this.#inUse
  }

  /** Used when the signing key was withdrawn and its successor is not loaded yet. */
  async reloadSigningKey(alg: SignatureAlg): Promise<PrivateKey> {
    await this.reload()
    const signing = this.inUse().signing.get(alg)
    if (signing !== undefined) return signing
    const waiting = this.#stored.find((key) => key.alg === alg && key.retiredAt === undefined)
    if (waiting === undefined) throw new Error(`There is no signing key for ${alg}: see the setting signing_algs`)
    const begin = new Date(waiting.activeFrom).toISOString()
    throw new Refusal(
      'temporarily_unavailable',
      503,
      `The first key for ${alg} is published and signs from ${begin} on`,
    )
  }

  #signing(now: number): ReadonlyMap<SignatureAlg, PrivateKey> {
    const signing = new Map<SignatureAlg, PrivateKey>()
    for (const [alg, { kid, activeFrom }] of chooseSigningKeys(this.#stored, now)) {
      const privateKey = this.#privateKeys.get(kid)
      const isFirst = !this.#stored.some((key) => key.alg === alg && key.activeFrom < activeFrom)
      if (privateKey !== undefined && !(isFirst && activeFrom > now)) signing.set(alg, { kid, privateKey })
    }
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
    for (const { kid, alg, publicJwk, sealedPrivateKey } of this.#stored) {
      if (!this.#publicKeys.has(kid))
        this.#publicKeys.set(kid, { alg, key: createPublicKey({ key: publicJwk, format: 'jwk' }) })
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

function toPublishedKey({ kid, alg, publicJwk: { kty, crv, n, e, x, y } }: StoredKey): PublishedKey {
  const members = kty === 'RSA' ? { n, e } : kty === 'EC' ? { crv, x, y } : { crv, x }
  return { kty, use: 'sig', alg, kid, ...members }
}
