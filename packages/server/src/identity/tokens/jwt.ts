/** Strict parser for the compact serialization of a JWS (RFC 7515 §5.2). It does not check signatures. */
import { parseJson } from '../../lib/exact-json.ts'

type JsonObject = Readonly<Record<string, unknown>>
export type Claims = JsonObject

export interface ParsedJwt {
  readonly header: JsonObject
  readonly claims: Claims
}

const MAX_LENGTH = 16 * 1024
const SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

export function parseJwt(token: string): ParsedJwt | undefined {
  if (token.length > MAX_LENGTH || !SHAPE.test(token)) return undefined
  const [afterHead, afterBody] = [token.indexOf('.'), token.lastIndexOf('.')]
  const header = parseHeader(token.slice(0, afterHead))
  const claims = parseObject(token.slice(afterHead + 1, afterBody))
  return header === undefined || claims === undefined ? undefined : { header, claims }
}

let lastHeader: { readonly encoded: string; readonly header: JsonObject | undefined } | undefined

/** All tokens of one type under one key have the same header, which is parsed once. */
function parseHeader(encoded: string): JsonObject | undefined {
  if (lastHeader?.encoded !== encoded) lastHeader = { encoded, header: parseObject(encoded) }
  return lastHeader.header
}

/** The signing input and the signature of a token that has been parsed (RFC 7515 §5.2). */
export function splitJws(token: string): { input: Buffer; signature: Buffer } {
  const dot = token.lastIndexOf('.')
  return {
    input: Buffer.from(token.slice(0, dot), 'latin1'),
    signature: Buffer.from(token.slice(dot + 1), 'base64url'),
  }
}

/** The object that Base64url text encodes as JSON; undefined for anything else. */
export function parseObject(encoded: string): JsonObject | undefined {
  try {
    const value = parseJson(Buffer.from(encoded, 'base64url').toString())
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
