/** The `jti` of an access token: unguessable, and it tells us the grant and the millisecond that the token comes from. */
import { fewRandomBytes } from '../store/opaque.ts'

const RANDOM_BYTES = 16
const SHAPE = /^(?:([A-Za-z0-9_-]{22})\.)?([A-Za-z0-9_-]{24})$/

/** `iat` counts seconds (RFC 7519 §2), which is too coarse for "everything issued until now": the rest of it stands here. */
export function makeTokenId(grantId: string | undefined, issuedAtMs: number): string {
  const bytes = fewRandomBytes(RANDOM_BYTES + 2)
  bytes.writeUInt16BE(issuedAtMs % 1000, RANDOM_BYTES)
  const serial = bytes.toString('base64url')
  return grantId === undefined ? serial : `${grantId}.${serial}`
}

export function readTokenId(tokenId: string): { grantId: string | undefined; milliseconds: number } | undefined {
  const match = SHAPE.exec(tokenId)
  if (match === null) return undefined
  return { grantId: match[1], milliseconds: Buffer.from(match[2] ?? '', 'base64url').readUInt16BE(RANDOM_BYTES) }
}
