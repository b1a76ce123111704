/** Proof Key for Code Exchange (RFC 7636). */
import { hash, timingSafeEqual } from 'node:crypto'
import type { CodeDetails } from '../../store/authorizations/codes.ts'

/** Verifiers and challenges have the same syntax (§4.1, §4.2). */
const SHAPE = /^[A-Za-z0-9._~-]{43,128}$/

export function isChallenge(text: string): boolean {
  return SHAPE.test(text)
}

export function verifies(verifier: string, { method, value }: NonNullable<CodeDetails['challenge']>): boolean {
  if (!SHAPE.test(verifier)) return false
  const computed = Buffer.from(method === 'S256' ? hash('sha256', verifier, 'base64url') : verifier)
  const expected = Buffer.from(value)
  return computed.length === expected.length && timingSafeEqual(computed, expected)
}
