/** Keeps a body for a format that does not describe its rows at its beginning: a short one in memory, any other in a file. */
import type { ByteSource, KeptBody } from './reader.ts'
import type { Spool } from './spools.ts'

/** A body of this length needs no file. */
const SHORT_BYTES = 256 * 1024

export async function keepBody(source: ByteSource, openFile: () => Promise<Spool>): Promise<KeptBody> {
  const parts: Uint8Array[] = []
  let length = 0
  let file: Spool | undefined
  for await (const part of source) {
    length += part.byteLength
    if (file !== undefined) await file.write(part)
    else parts.push(Buffer.from(part))
    if (file === undefined && length > SHORT_BYTES) {
      file = await openFile()
      await file.write(...parts.splice(0))
    }
  }
  return file ?? inMemory(Buffer.concat(parts))
}

function inMemory(bytes: Buffer): KeptBody {
  return { length: bytes.length, read: async (start, end) => bytes.subarray(start, end) }
}
