/** Takes a compact JWS apart, strictly (RFC 7515 §5.2); what it says is not to be believed before its signature is checked. */
import { Recent } from './recent.ts'

type Members = Readonly<Record<string, unknown>>
export type Claims = Members

export interface ParsedJwt {
  readonly header: Members
  readonly claims: Claims
}

const LONGEST = 16 * 1024
const SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

export function parseJwt(token: string, longest = LONGEST): ParsedJwt | undefined {
  if (token.length > longest || !SHAPE.test(token)) return undefined
  const [head = '', body = ''] = token.split('.', 2)
  const header = parseHeader(head)
  const claims = parseObject(body)
  return header === undefined || claims === undefined ? undefined : { header, claims }
}

/** What is signed, and the signature, of a token that has been parsed (RFC 7515 §5.2). */
export function partsOf(token: string): { signed: Buffer; signature: Buffer } {
  const dot = token.lastIndexOf('.')
  return {
    signed: Buffer.from(token.slice(0, dot), 'latin1'),
    signature: Buffer.from(token.slice(dot + 1), 'base64url'),
  }
}

const headers = new Recent<Members>(100)
const LONGEST_COMMON = 500

/** All tokens of a key begin with the same header. */
function parseHeader(encoded: string): Members | undefined {
  if (encoded.length > LONGEST_COMMON) return parseObject(encoded)
  const known = headers.get(encoded)
  if (known !== undefined) return known
  const header = parseObject(encoded)
  if (header !== undefined) headers.set(encoded, header)
  return header
}

function parseObject(encoded: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    return isMembers(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
