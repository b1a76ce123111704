/** Content that is held in memory as it is, in Brotli and in gzip, and sent as the client accepts it. */
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Context } from './context.ts'
import { byQuality } from './request/accept.ts'
import { isKnown } from './request/conditional.ts'

export interface CompressedContent {
  readonly type: string
  /** Weak (RFC 9110 §8.8.1): the same for each encoding. */
  readonly tag: string
  readonly content: Buffer
  readonly br: Buffer
  readonly gzip: Buffer
}

/** The highest quality takes a hundred times as long, on the event loop, for a tenth of the bytes. */
const QUALITY = 5

export function compress(type: string, text: string): CompressedContent {
  const content = Buffer.from(text)
  const br = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } })
  return { type, tag: weakEtag(content), content, br, gzip: gzipSync(content) }
}

/** RFC 9110 §13.1.2, §12.5.3. The caller says how long it may be kept. */
export function sendCompressed(context: Context, file: CompressedContent, status = 200): void {
  context.setHeader('etag', file.tag)
  context.addVary('accept-encoding')
  if (status === 200 && isKnown(context, file.tag)) {
    context.end(304)
    return
  }
  const encoding = file.br === file.content ? undefined : chooseEncoding(context.headers['accept-encoding'])
  if (encoding !== undefined) context.setHeader('content-encoding', encoding)
  context.send(file.type, encoding === undefined ? file.content : file[encoding], status)
}

/** Brotli where it is accepted, then gzip. */
export function chooseEncoding(header: string | undefined): 'br' | 'gzip' | undefined {
  const accepted = byQuality(header ?? '').map(({ value }) => value)
  return (['br', 'gzip'] as const).find((name) => accepted.includes(name))
}

export function weakEtag(content: Buffer): string {
  return `W/"${contentDigest(content)}"`
}

export function contentDigest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12)
}
