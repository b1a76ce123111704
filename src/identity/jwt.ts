/** Takes a compact JWS apart, strictly (RFC 7515 §5.2); what it says is not to be believed before its signature is checked. */

export type Claims = Readonly<Record<string, unknown>>

export interface ParsedJwt {
  readonly header: Readonly<Record<string, unknown>>
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
    signed: Buffer.from(`${head}.${body}`),
    signature: Buffer.from(signature, 'base64url'),
  }
}

function parseObject(encoded: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
