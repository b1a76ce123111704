/** The life of signing keys: made, published before they sign, retired after the last token that they signed (RSA-2048, RS256). */
import { createHash, generateKeyPair, type JsonWebKey } from 'node:crypto'
import { promisify } from 'node:util'
import { seal } from './opaque.ts'
import type { SigningKeys, StoredKey } from './signing-keys.ts'
import { LONGEST_TOKEN_MS } from './take-back.ts'

/** Private halves are sealed for this use alone. */
export const SEALED_KEY = 'gatehouse signing key'
const LONGEST_LEAD_MS = 24 * 3600 * 1000

export interface KeyTending {
  readonly keys: SigningKeys
  readonly sealingKey: Buffer
  readonly rotateEveryMs: number
}

export interface KeyChanges {
  readonly created: readonly StoredKey[]
  readonly retired: readonly string[]
}

/** Does what is due, and says what it did; running it twice, or on two nodes at once, does no harm. */
export async function tendKeys({ keys, sealingKey, rotateEveryMs }: KeyTending, now: number): Promise<KeyChanges> {
  const stored = await keys.list()
  const created: StoredKey[] = []
  const current = signingKeyOf(stored, now)
  // Validators must have met a key before the first token that it signs.
  const lead = Math.min(LONGEST_LEAD_MS, rotateEveryMs / 4)
  if (current === undefined) created.push(await makeKey(sealingKey, now, now))
  else if (!stored.some(({ activeFrom }) => activeFrom > now) && now >= current.activeFrom + rotateEveryMs - lead)
    created.push(await makeKey(sealingKey, now, Math.max(now + lead, current.activeFrom + rotateEveryMs)))
  for (const key of created) await keys.add(key)

  const outlived = stored.filter(
    ({ retiredAt, activeFrom }) => retiredAt === undefined && current !== undefined && activeFrom < current.activeFrom,
  )
  for (const { kid } of outlived) await keys.retire(kid, now, now + LONGEST_TOKEN_MS)
  return { created, retired: outlived.map(({ kid }) => kid) }
}

/** A key that signs from `activeFrom` on, whether or not rotation is due. */
export async function addKey(
  { keys, sealingKey }: Pick<KeyTending, 'keys' | 'sealingKey'>,
  now: number,
  activeFrom: number,
): Promise<StoredKey> {
  const key = await makeKey(sealingKey, now, activeFrom)
  await keys.add(key)
  return key
}

/** The newest whose time has come; when a node with a clock ahead of ours has retired that one, the next. */
export function signingKeyOf(keys: readonly StoredKey[], now: number): StoredKey | undefined {
  const unretired = keys.filter(({ retiredAt }) => retiredAt === undefined)
  return unretired.findLast(({ activeFrom }) => activeFrom <= now) ?? unretired[0]
}

export function isPublished({ removedAfter }: StoredKey, now: number): boolean {
  return removedAfter === undefined || now < removedAfter
}

/** Somebody else may have its private half: nothing that it signed counts, whenever that was. */
export function isWithdrawn({ retiredAt, removedAfter }: StoredKey): boolean {
  return retiredAt !== undefined && removedAfter !== undefined && removedAfter <= retiredAt
}

async function makeKey(sealingKey: Buffer, now: number, activeFrom: number): Promise<StoredKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const publicJwk = publicKey.export({ format: 'jwk' })
  return {
    kid: thumbprint(publicJwk),
    publicJwk,
    sealedPrivateKey: seal(privateKey.export({ format: 'der', type: 'pkcs8' }), sealingKey, SEALED_KEY),
    createdAt: now,
    activeFrom,
    retiredAt: undefined,
    removedAfter: undefined,
  }
}

/** RFC 7638: the members in the order of their names. */
function thumbprint({ e, kty, n }: JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ e, kty, n })).digest('base64url')
}
