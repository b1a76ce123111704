/** Sends the files of a dump, in sealed parts, and its manifest last. */
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from 'gatehouse-protocol'
import { encodeHead } from '../objects/heads.ts'
import { dumpManifestName, dumpPartName } from '../objects/names.ts'
import { hashObject, sealObject } from '../objects/seal.ts'
import { checkKept, putPersistently } from '../target/put.ts'
import type { Target } from '../target/target.ts'

export const PART_BYTES = 16 * 1024 * 1024

export interface SendOptions {
  readonly target: Target
  readonly key: Buffer
  readonly generation: string
  readonly began: number
  /** That `gatehouse backup` would write. */
  readonly folder: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  readonly taken: number
  readonly rows: number
  /** Bytes a second. */
  readonly rate: number
  readonly signal: AbortSignal
}

/** Returns the number of bytes that were sent. */
export async function sendDump(options: SendOptions): Promise<number> {
  const { target, key, generation, began, folder, files, taken, rows, rate, signal } = options
  const parts: string[] = []
  let bytes = 0
  for (const { name } of files)
    for await (const content of readParts(join(folder, name))) {
      const start = performance.now()
      const part = dumpPartName(generation, began, parts.length)
      const sealed = sealObject(key, part, content)
      await putPersistently(target, part, sealed, signal)
      parts.push(hashObject(sealed))
      bytes += sealed.length
      await sleep(Math.max(0, (1000 * sealed.length) / rate - (performance.now() - start)), undefined, { signal })
    }
  const listed = files.map((file) => ({ name: file.name, bytes: file.bytes }))
  const manifest = {
    format: 1,
    kind: 'dump',
    version: VERSION,
    host: hostname(),
    taken,
    rows,
    files: listed,
    parts,
  } as const
  const name = dumpManifestName(generation, began)
  const sealed = sealObject(key, name, encodeHead(manifest))
  await putPersistently(target, name, sealed, signal)
  await checkKept(target, name, sealed, signal)
  return bytes + sealed.length
}

async function* readParts(path: string): AsyncGenerator<Buffer> {
  const file = await open(path)
  try {
    for (;;) {
      const part = Buffer.allocUnsafe(PART_BYTES)
      let length = 0
      for (let read = -1; read !== 0 && length < PART_BYTES; length += read)
        read = (await file.read(part, length, PART_BYTES - length)).bytesRead
      if (length > 0) yield part.subarray(0, length)
      if (length < PART_BYTES) return
    }
  } finally {
    await file.close()
  }
}
