/** The files of a release: the packages, the bill of materials, and the SHA-256 sums of all. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PUBLISHED = ['gatehouse-server', 'gatehouse-client']
const SUMS = 'SHA256SUMS'

/** Replaces the folder. Returns the names of the files. */
export async function packRelease(root: string, folder: string): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const workspaces = PUBLISHED.flatMap((name) => ['--workspace', name])
  await run('npm', ['pack', ...workspaces, '--pack-destination', folder], { cwd: root, maxBuffer: 1 << 24 })
  const server = (await readdir(folder)).find((name) => name.startsWith('gatehouse-server-')) ?? ''
  const tar = ['-xzOf', join(folder, server), 'package/sbom.cdx.json']
  const { stdout } = await run('tar', tar, { maxBuffer: 1 << 24 })
  await writeFile(join(folder, server.replace(/\.tgz$/, '.cdx.json')), stdout)
  const files = (await readdir(folder)).sort()
  const lines = await Promise.all(files.map(async (name) => `${await checksumFile(join(folder, name))}  ${name}\n`))
  await writeFile(join(folder, SUMS), lines.join(''))
  return [...files, SUMS]
}

async function checksumFile(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}
