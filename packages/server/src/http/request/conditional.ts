/** Replies that a client may keep as long as the server confirms them (RFC 9110 §13.1.2). */
import type { Context } from '../context.ts'

/** 304 without a body if the client has the content of this entity tag. */
export function sendUnlessKnown(context: Context, etag: string, type: string, content: string | Buffer): void {
  context.setHeaders({ etag, 'cache-control': 'no-cache' })
  if (isKnown(context, etag)) context.end(304)
  else context.send(type, content)
}

/** Entity tags are compared weakly (RFC 9110 §8.8.3.2). */
export function isKnown({ headers }: Context, etag: string): boolean {
  const known = headers['if-none-match']
  return known !== undefined && (known === '*' || known.split(',').some((tag) => opaque(tag.trim()) === opaque(etag)))
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
