/** Takes a compact JWS apart, strictly (RFC 7515 §5.2); what it says is not to be believed before its signature is checked. */

type Members = Readonly<Record<string, unknown>>
export type Claims = Members

export interface ParsedJwt {
  readonly header: Members
  readonly claims: Claims
  readonly signed: Buffer
  readonly signature: Buffer
}

const LONGEST = 16 * 1024
const SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

export function parseJwt(token: string, longest = LONGEST): ParsedJwt | undefined {
  if (token.length > longest || !SHAPE.test(token)) return undefined
  const [head = '', body = '', signature = ''] = token.split('.')
  const header = parseObject(head)
  const claims = parseObject(body)
  if (header === undefined || claims === undefined) return undefined
  return {
    header,
    claims,
    signed: Buffer.from(token.slice(0, head.length + 1 + body.length), 'latin1'),
    signature: Buffer.from(signature, 'base64url'),
  }
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
