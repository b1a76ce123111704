/** Rotation of signing keys: published before first use, and until the last token they signed has expired. Each algorithm has its own ring. */
import { createHash, createPrivateKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { SignatureAlg } from '../../lib/signature-algs.ts'
import { WrongMasterKey } from './master-key.ts'
import { seal, unseal } from './opaque.ts'
import type { SigningKeys, StoredKey } from './signing-keys.ts'

/** Upper limit of every access token's lifetime, regardless of the client's metadata. */
export const LONGEST_TOKEN_MS = 24 * 3600 * 1000
/** The purpose that private keys are sealed for. */
export const SEALED_KEY = 'gatehouse signing key'
const LONGEST_PUBLISHED_AHEAD_MS = 24 * 3600 * 1000
/** How long the published keys may be cached: a key of a new ring signs only when no cached list can lack it. */
export const JWKS_CACHE_MS = 5 * 60 * 1000

export interface KeyRotationOptions {
  readonly keys: SigningKeys
  readonly sealingKey: Buffer
  readonly rotateEveryMs: number
  /** The algorithms that have a ring; RS256 always has one. */
  readonly algs?: readonly SignatureAlg[]
  /** False while rings must not be added. */
  readonly mayAddRings?: boolean
}

export interface KeyChanges {
  readonly created: readonly StoredKey[]
  readonly retired: readonly StoredKey[]
}

/** Creates and retires the keys that are due. Idempotent, and safe to run on several nodes at once. */
export async function rotateDueKeys(options: KeyRotationOptions, now: number): Promise<KeyChanges> {
  const { keys, algs = ['RS256'], mayAddRings = true, rotateEveryMs } = options
  const stored = await keys.list()
  const rings = Map.groupBy(stored, ({ alg }) => alg)
  const created: StoredKey[] = []
  const retired: StoredKey[] = []
  for (const alg of algs) {
    const ring = rings.get(alg) ?? []
    if (ring.length === 0 && alg !== 'RS256' && !mayAddRings) continue
    // An installation without keys has published none that could be cached.
    const firstFrom = stored.length === 0 ? now : now + JWKS_CACHE_MS
    const activeFrom = dueFrom(ring, rotateEveryMs, now, firstFrom)
    if (activeFrom !== undefined) created.push(await addKey(options, alg, now, activeFrom))
    retired.push(...supersededIn(ring, now))
  }
  // Other nodes may still have the algorithm in their settings: its keys end when they would have been replaced.
  const isOld = (key: StoredKey) => isUnretired(key) && now >= key.activeFrom + rotateEveryMs
  for (const [alg, ring] of rings) if (!algs.includes(alg)) retired.push(...ring.filter(isOld))
  for (const { kid } of retired) await keys.retire(kid, now, now + LONGEST_TOKEN_MS)
  return { created, retired }
}

/** When a key that has to be made now will sign; undefined where none is due. */
function dueFrom(
  ring: readonly StoredKey[],
  rotateEveryMs: number,
  now: number,
  firstFrom: number,
): number | undefined {
  const current = chooseSigningKey(ring, now)
  if (current === undefined) return firstFrom
  // Validators must be able to fetch a key before the first token signed with it arrives.
  const ahead = Math.min(LONGEST_PUBLISHED_AHEAD_MS, rotateEveryMs / 4)
  const isDue = now >= current.activeFrom + rotateEveryMs - ahead
  const hasSuccessor = ring.some(({ activeFrom }) => activeFrom > now)
  return isDue && !hasSuccessor ? Math.max(now + ahead, current.activeFrom + rotateEveryMs) : undefined
}

function supersededIn(ring: readonly StoredKey[], now: number): readonly StoredKey[] {
  const current = chooseSigningKey(ring, now)
  return ring.filter((key) => isUnretired(key) && current !== undefined && key.activeFrom < current.activeFrom)
}

/** Adds a key that signs from `activeFrom` on, whether or not rotation is due. */
export async function addKey(
  { keys, sealingKey }: Pick<KeyRotationOptions, 'keys' | 'sealingKey'>,
  alg: SignatureAlg,
  now: number,
  activeFrom: number,
): Promise<StoredKey> {
  const key = await generateKey(alg, sealingKey, now, activeFrom)
  await keys.add(key)
  return key
}

/** Throws WrongMasterKey if another master key sealed it. */
export function openPrivateKey(sealed: string, sealingKey: Buffer): KeyObject {
  let der: Buffer
  try {
    der = unseal(sealed, sealingKey, SEALED_KEY)
  } catch {
    throw new WrongMasterKey(
      'The signing keys are sealed under another master key: set GATEHOUSE_MASTER_KEY to the key that sealed them, or restore master.key in the data folder.',
    )
  }
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** The newest active key of a ring. If a node whose clock is ahead has already retired it, the next one. */
export function chooseSigningKey(ring: readonly StoredKey[], now: number): StoredKey | undefined {
  const unretired = ring.filter(isUnretired)
  return unretired.findLast(({ activeFrom }) => activeFrom <= now) ?? unretired[0]
}

/** The signing key of each ring. */
export function chooseSigningKeys(keys: readonly StoredKey[], now: number): ReadonlyMap<SignatureAlg, StoredKey> {
  const signing = new Map<SignatureAlg, StoredKey>()
  for (const [alg, ring] of Map.groupBy(keys, (key) => key.alg)) {
    const key = chooseSigningKey(ring, now)
    if (key !== undefined) signing.set(alg, key)
  }
  return signing
}

export function isPublished({ removedAfter }: StoredKey, now: number): boolean {
  return removedAfter === undefined || now < removedAfter
}

/** The private key may be compromised: nothing that it signed is valid, whenever it was signed. */
export function isWithdrawn({ retiredAt, removedAfter }: StoredKey): boolean {
  return retiredAt !== undefined && removedAfter !== undefined && removedAfter <= retiredAt
}

function isUnretired({ retiredAt }: StoredKey): boolean {
  return retiredAt === undefined
}

async function generateKey(alg: SignatureAlg, sealingKey: Buffer, now: number, activeFrom: number): Promise<StoredKey> {
  const { publicKey, privateKey } = await generatePair(alg)
  const publicJwk = publicKey.export({ format: 'jwk' })
  const kid = thumbprint(publicJwk)
  // `gatehouse keys retire KID` would take it for an option.
  if (kid.startsWith('-')) return generateKey(alg, sealingKey, now, activeFrom)
  return {
    kid,
    alg,
    publicJwk,
    sealedPrivateKey: seal(privateKey.export({ format: 'der', type: 'pkcs8' }), sealingKey, SEALED_KEY),
    createdAt: now,
    activeFrom,
    retiredAt: undefined,
    removedAfter: undefined,
  }
}

const generate = promisify(generateKeyPair)

function generatePair(alg: SignatureAlg): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  switch (alg) {
    case 'ES256':
      return generate('ec', { namedCurve: 'P-256' })
    case 'EdDSA':
      return generate('ed25519')
    default:
      return generate('rsa', { modulusLength: 2048 })
  }
}

/** RFC 7638 §3.2, RFC 8037 §2: the required members in lexicographic order. */
function thumbprint({ crv, e, kty, n, x, y }: JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}
