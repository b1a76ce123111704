/** Cursors: where a result was cut, bound to the request that it belongs to. */
import { createHash } from 'node:crypto'
import { refuse } from './errors.ts'
import { isList, isObject, type Json } from './json.ts'
import type { Cell } from './result/encoding.ts'

/** After the row with this key, or after so many rows where there is no key. */
export type Cursor =
  | { readonly kind: 'key'; readonly key: readonly (string | null)[] }
  | { readonly kind: 'rows'; readonly rows: number }

/** `request` is everything that decides which rows come in which order. */
export function writeCursor(cursor: Cursor, request: string): string {
  const place = cursor.kind === 'key' ? { k: cursor.key } : { n: cursor.rows }
  return Buffer.from(JSON.stringify({ r: digest(request), ...place })).toString('base64url')
}

export function readCursor(text: string, request: string): Cursor {
  const content = decode(text)
  if (content === undefined || content.r !== digest(request)) {
    throw refuse('Request.BadCursor', 'The cursor was not given by this request')
  }
  if (typeof content.n === 'number' && Number.isSafeInteger(content.n) && content.n >= 0)
    return { kind: 'rows', rows: content.n }
  if (isList(content.k) && content.k.every((part) => part === null || typeof part === 'string')) {
    return { kind: 'key', key: content.k.map((part) => (typeof part === 'string' ? part : null)) }
  }
  throw refuse('Request.BadCursor', 'The cursor cannot be read')
}

export function keyText(cell: Cell): string | null {
  if (cell === null) return null
  return cell instanceof Uint8Array ? Buffer.from(cell).toString('base64') : String(cell)
}

function decode(text: string): { readonly [member: string]: Json } | undefined {
  try {
    const content: Json = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return isObject(content) ? content : undefined
  } catch {
    return undefined
  }
}

function digest(request: string): string {
  return createHash('sha256').update(request).digest('base64url').slice(0, 16)
}
