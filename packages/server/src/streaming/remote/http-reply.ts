/** A request to another program, and its reply, whichever version of HTTP carries them. */

export interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Ends the request at once. */
  readonly signal: AbortSignal
  /** A longer reply is an error. */
  readonly maxBytes: number
}

export interface HttpReply {
  readonly status: number
  /** The media type in lower case, without parameters; empty if there is none. */
  readonly type: string
  readonly body: Buffer
}

export interface ReplyHead {
  readonly 'content-type'?: string | undefined
  readonly 'content-encoding'?: string | undefined
}

/** Rejects if the reply is incomplete or too long; the stream is destroyed then. */
export async function readReply(
  stream: AsyncIterable<Buffer>,
  status: number,
  head: ReplyHead,
  maxBytes: number,
): Promise<HttpReply> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`the reply has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const encoding = head['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new Error(`the reply is encoded with ${encoding}, which was not asked for`)
  return { status, type: mediaType(head['content-type']), body: Buffer.concat(chunks) }
}

function mediaType(header: string | undefined): string {
  return header?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
