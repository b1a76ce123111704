/** The manifest of a backup, written last: a folder without one is not a complete backup. */
import { createHash, createHmac } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Engine } from '../database/database.ts'
import type { MasterKey } from '../keys/master-key.ts'

export class BadBackup extends Error {
  override name = 'BadBackup'
}

export interface BackupFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  /** The number of rows, for a database or a table. */
  readonly rows?: number
}

export interface Manifest {
  readonly format: 1
  readonly version: string
  readonly engine: Engine
  /** ISO 8601. */
  readonly taken: string
  readonly files: readonly BackupFile[]
  /** The name of the folder that it was written to: a copy of it has another. Absent in backups of earlier versions. */
  readonly folder?: string
  /** Absent in backups of earlier versions. */
  readonly seal?: string
}

const NAME = 'manifest.json'

/** Of all databases, or tables. */
export function sumRows({ files }: Pick<Manifest, 'files'>): number {
  return files.reduce((sum, file) => sum + (file.rows ?? 0), 0)
}

export async function describeFile(folder: string, name: string, rows?: number): Promise<BackupFile> {
  const digest = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(join(folder, name)), async (chunks) => {
    for await (const chunk of chunks) {
      digest.update(chunk)
      bytes += chunk.length
    }
  })
  return { name, bytes, sha256: digest.digest('hex'), ...(rows === undefined ? {} : { rows }) }
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const temporary = join(folder, `${NAME}.tmp`)
  await writeFile(temporary, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
  const handle = await open(temporary)
  await handle.sync()
  await handle.close()
  await rename(temporary, join(folder, NAME))
}

/** Anyone who changes a file and its checksum cannot seal the manifest again without the master key. */
export function seal(manifest: Manifest, masterKey: MasterKey): Manifest {
  return { ...manifest, seal: computeSeal(manifest, masterKey) }
}

/** Throws BadBackup unless the manifest is as it was when the backup was taken. Without a key there is nothing to compare it with. */
export function checkSeal(manifest: Manifest, masterKey: MasterKey | undefined, folder: string): void {
  const trusting = 'If you trust it as it is, add --unsealed'
  if (manifest.seal === undefined)
    throw new BadBackup(
      `The backup ${folder} has no seal: it was taken by an earlier version, or its manifest was changed. ${trusting}`,
    )
  if (masterKey === undefined)
    throw new BadBackup(
      `The seal of the backup ${folder} cannot be checked: set GATEHOUSE_MASTER_KEY as for the server that it was taken from. ${trusting}`,
    )
  if (manifest.seal !== computeSeal(manifest, masterKey))
    throw new BadBackup(
      `The backup ${folder} was changed after it was taken, or sealed under another master key: set GATEHOUSE_MASTER_KEY as for the server that it was taken from. ${trusting}`,
    )
}

function computeSeal({ seal: _seal, ...sealed }: Manifest, masterKey: MasterKey): string {
  return createHmac('sha256', masterKey.derive('backup manifests')).update(JSON.stringify(sealed)).digest('base64url')
}

/** Reads the manifest and verifies every file against it. */
export async function readBackup(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder)
  for (const file of manifest.files) {
    const found = await describeFile(folder, file.name).catch((error) => {
      throw new BadBackup(`${file.name} is missing from the backup ${folder}`, { cause: error })
    })
    if (found.sha256 !== file.sha256)
      throw new BadBackup(`${file.name} of the backup ${folder} is damaged: its checksum does not match`)
  }
  return manifest
}

/** Without a look at the other files. */
export async function readManifest(folder: string): Promise<Manifest> {
  let text: string
  try {
    text = await readFile(join(folder, NAME), 'utf8')
  } catch (error) {
    const text = (await isFolder(folder))
      ? `The folder ${folder} is not a complete backup: it has no ${NAME}. Name the folder that "gatehouse backup" wrote`
      : `There is no folder ${folder}: name the folder that "gatehouse backup" wrote`
    throw new BadBackup(text, { cause: error })
  }
  const manifest = parseManifest(text)
  if (manifest === undefined) throw new BadBackup(`${join(folder, NAME)} is not a manifest of format 1`)
  return manifest
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

function parseManifest(text: string): Manifest | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return isManifest(value) ? value : undefined
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null) return false
  const { format, engine, taken, files, folder, seal } = value as Record<string, unknown>
  return (
    format === 1 &&
    (engine === 'sqlite' || engine === 'postgres') &&
    typeof taken === 'string' &&
    (folder === undefined || typeof folder === 'string') &&
    (seal === undefined || typeof seal === 'string') &&
    Array.isArray(files) &&
    files.every(
      (file: unknown) =>
        typeof file === 'object' &&
        file !== null &&
        'name' in file &&
        typeof file.name === 'string' &&
        !file.name.includes('..') &&
        !file.name.startsWith('/'),
    )
  )
}
