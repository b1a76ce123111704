/** Page cursors: where a page ended, bound to the request that returned it. */
import { createHash } from 'node:crypto'
import type { Json } from '../../lib/exact-json.ts'
import { refuse } from '../errors.ts'
import { isList, isObject } from '../json.ts'
import type { Cell } from '../model/result.ts'

/** The next page starts after the row with this key or, in a table without a key, after this number of rows. */
export type Cursor =
  | { readonly kind: 'key'; readonly key: readonly (string | null)[] }
  | { readonly kind: 'rows'; readonly rows: number }

/** `request` is everything that determines the rows and their order. */
export function writeCursor(cursor: Cursor, request: string): string {
  const position = cursor.kind === 'key' ? { k: cursor.key } : { n: cursor.rows }
  return Buffer.from(JSON.stringify({ r: digest(request), ...position })).toString('base64url')
}

export function readCursor(text: string, request: string): Cursor {
  const content = decode(text)
  if (content === undefined || content.r !== digest(request)) {
    throw refuse('Request.BadCursor', 'The cursor belongs to another request')
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
