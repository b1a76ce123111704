/** Rotation of signing keys (RSA-2048, RS256): published before first use, and until the last token they signed has expired. */
import { createHash, createPrivateKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { WrongMasterKey } from './master-key.ts'
import { seal, unseal } from './opaque.ts'
import type { SigningKeys, StoredKey } from './signing-keys.ts'

/** Upper limit of every access token's lifetime, regardless of the client's metadata. */
export const LONGEST_TOKEN_MS = 24 * 3600 * 1000
/** The purpose that private keys are sealed for. */
export const SEALED_KEY = 'gatehouse signing key'
const LONGEST_PUBLISHED_AHEAD_MS = 24 * 3600 * 1000

export interface KeyRotationOptions {
  readonly keys: SigningKeys
  readonly sealingKey: Buffer
  readonly rotateEveryMs: number
}

export interface KeyChanges {
  readonly created: readonly StoredKey[]
  readonly retired: readonly string[]
}

/** Creates and retires the keys that are due. Idempotent, and safe to run on several nodes at once. */
export async function rotateDueKeys(
  { keys, sealingKey, rotateEveryMs }: KeyRotationOptions,
  now: number,
): Promise<KeyChanges> {
  const stored = await keys.list()
  const created: StoredKey[] = []
  const current = signingKeyOf(stored, now)
  // Validators must be able to fetch a key before the first token signed with it arrives.
  const ahead = Math.min(LONGEST_PUBLISHED_AHEAD_MS, rotateEveryMs / 4)
  if (current === undefined) created.push(await generateKey(sealingKey, now, now))
  else if (!stored.some(({ activeFrom }) => activeFrom > now) && now >= current.activeFrom + rotateEveryMs - ahead)
    created.push(await generateKey(sealingKey, now, Math.max(now + ahead, current.activeFrom + rotateEveryMs)))
  for (const key of created) await keys.add(key)

  const superseded = stored.filter(
    ({ retiredAt, activeFrom }) => retiredAt === undefined && current !== undefined && activeFrom < current.activeFrom,
  )
  for (const { kid } of superseded) await keys.retire(kid, now, now + LONGEST_TOKEN_MS)
  return { created, retired: superseded.map(({ kid }) => kid) }
}

/** Adds a key that signs from `activeFrom` on, whether or not rotation is due. */
export async function addKey(
  { keys, sealingKey }: Pick<KeyRotationOptions, 'keys' | 'sealingKey'>,
  now: number,
  activeFrom: number,
): Promise<StoredKey> {
  const key = await generateKey(sealingKey, now, activeFrom)
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

/** The newest active key. If a node whose clock is ahead has already retired it, the next one. */
export function signingKeyOf(keys: readonly StoredKey[], now: number): StoredKey | undefined {
  const unretired = keys.filter(({ retiredAt }) => retiredAt === undefined)
  return unretired.findLast(({ activeFrom }) => activeFrom <= now) ?? unretired[0]
}

export function isPublished({ removedAfter }: StoredKey, now: number): boolean {
  return removedAfter === undefined || now < removedAfter
}

/** The private key may be compromised: nothing that it signed is valid, whenever it was signed. */
export function isWithdrawn({ retiredAt, removedAfter }: StoredKey): boolean {
  return retiredAt !== undefined && removedAfter !== undefined && removedAfter <= retiredAt
}

async function generateKey(sealingKey: Buffer, now: number, activeFrom: number): Promise<StoredKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const publicJwk = publicKey.export({ format: 'jwk' })
  const kid = thumbprint(publicJwk)
  // `gatehouse keys retire KID` would take it for an option.
  if (kid.startsWith('-')) return generateKey(sealingKey, now, activeFrom)
  return {
    kid,
    publicJwk,
    sealedPrivateKey: seal(privateKey.export({ format: 'der', type: 'pkcs8' }), sealingKey, SEALED_KEY),
    createdAt: now,
    activeFrom,
    retiredAt: undefined,
    removedAfter: undefined,
  }
}

/** RFC 7638 §3: the required members in lexicographic order. */
function thumbprint({ e, kty, n }: JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ e, kty, n })).digest('base64url')
}
