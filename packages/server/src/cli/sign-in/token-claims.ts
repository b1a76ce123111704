/** The claims of an access token (RFC 9068), read without a check of the signature: for display, and to choose where it goes. */
import { asObject, type JsonObject, parseJson } from '../output/json.ts'

/** None when the token is not a JWT. */
export function decodeClaims(token: string): JsonObject {
  const parts = token.split('.')
  return parts.length === 3 ? asObject(parseJson(Buffer.from(parts[1] ?? '', 'base64url').toString())) : {}
}
