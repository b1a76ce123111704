/** The objects that describe others: the head of a generation, and the manifests of a base and of a dump. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { BadObject } from './seal.ts'

/** Why a generation begins where another one has the place of its next object: a copy of the data folder, or a state that was set back. */
export const FORKED = 'another machine has written to this generation, or the spool was set back'

/** The first object of a generation. */
export interface GenerationHead {
  readonly format: 1
  readonly kind: 'generation'
  readonly engine: 'sqlite'
  readonly generation: string
  /** A random name of the data folder: generations of several are not continuations of each other. */
  readonly machine: string
  readonly host: string
  readonly began: number
  /** The version of gatehouse. */
  readonly version: string
  /** Why it was begun. */
  readonly reason: string
}

export interface BaseManifest {
  readonly format: 1
  readonly kind: 'base'
  readonly version: string
  readonly began: number
  /** The base and the segments after this one make up the state at each moment since `until`. */
  readonly from: { readonly number: number; readonly hash: string }
  readonly until: { readonly number: number; readonly hash: string; readonly time: number }
  readonly parts: readonly { readonly hash: string; readonly bytes: number }[]
  /** The small files of the data folder, in Base64: the marker and the master key. */
  readonly files: Readonly<Record<string, string>>
}

/** Of a dump of PostgreSQL, as `gatehouse backup` writes it. */
export interface DumpManifest {
  readonly format: 1
  readonly kind: 'dump'
  /** The version of gatehouse. */
  readonly version: string
  readonly host: string
  /** When its snapshot was taken, in milliseconds. */
  readonly taken: number
  readonly rows: number
  /** In the order of their parts: each file has those that its length needs. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  readonly parts: readonly string[]
}

const MAX_BYTES = 64 * 1024 * 1024

export function encodeHead(head: GenerationHead | BaseManifest | DumpManifest): Buffer {
  return zstdCompressSync(Buffer.from(JSON.stringify(head)), {
    params: { [constants.ZSTD_c_compressionLevel]: 3 },
  })
}

export function decodeGeneration(name: string, bytes: Buffer): GenerationHead {
  const head = decode(bytes)
  if (head.kind !== 'generation' || head.format !== 1) throw new BadObject(`${name} is not the head of a generation`)
  return head
}

export function decodeManifest(name: string, bytes: Buffer): BaseManifest {
  const head = decode(bytes)
  if (head.kind !== 'base' || head.format !== 1) throw new BadObject(`${name} is not the manifest of a base`)
  return head
}

export function decodeDump(name: string, bytes: Buffer): DumpManifest {
  const head = decode(bytes)
  if (head.kind !== 'dump' || head.format !== 1) throw new BadObject(`${name} is not the manifest of a dump`)
  return head
}

/** They are sealed: nobody else has written them. */
function decode(bytes: Buffer): GenerationHead | BaseManifest | DumpManifest {
  return JSON.parse(zstdDecompressSync(bytes, { maxOutputLength: MAX_BYTES }).toString())
}
