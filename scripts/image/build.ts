/** Makes the image with buildah from the last stage of the Dockerfile, without a base from a registry, and writes it to an archive. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import { assembleRoot } from './root.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
/** Kept for the tests. */
export const ARCHIVE = join(REPOSITORY, 'node_modules', '.cache', 'image', 'gatehouse.tar')
export const IMAGE = 'localhost/gatehouse:local'

/** In words for the person who runs the command; undefined where nothing is missing. */
export function missingTools(names: readonly string[]): string | undefined {
  const missing = names.filter((name) => spawnSync(name, ['--version']).error !== undefined)
  if (missing.length === 0) return undefined
  const commands = { buildah: 'buildah', podman: 'podman', 'apt-get': 'apt', 'dpkg-deb': 'dpkg' }
  const packages = Object.entries(commands).flatMap(([command, name]) => (missing.includes(command) ? [name] : []))
  return `This needs ${missing.join(' and ')} on Debian or a relative of it: apt-get install ${packages.join(' ')}`
}

/** The archive is not compressed: not every podman reads one that is. */
export async function buildImage(archive: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-image-'))
  const buildah = (...args: string[]) =>
    execFileSync(
      'buildah',
      ['--storage-driver', 'vfs', '--root', join(scratch, 'store'), '--runroot', join(scratch, 'run'), ...args],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
  try {
    const context = join(scratch, 'context')
    await assembleRoot(context)
    const file = join(scratch, 'Containerfile')
    await writeFile(file, lastStage(await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8')))
    // The format of OCI has no health check.
    buildah('build', '--quiet', '--format', 'docker', '--file', file, '--tag', IMAGE, context)
    await mkdir(dirname(archive), { recursive: true })
    const unfinished = `${archive}.unfinished`
    await rm(unfinished, { force: true })
    buildah('push', '--quiet', IMAGE, `docker-archive:${unfinished}:${IMAGE}`)
    await rename(unfinished, archive)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** About as much as a registry stores and a machine downloads. */
export async function compressedBytes(archive: string): Promise<number> {
  let bytes = 0
  await pipeline(createReadStream(archive), createGzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) bytes += chunk.length
  })
  return bytes
}

/** What the other stage leaves in /image is the context here. */
export function lastStage(dockerfile: string): string {
  const stage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM scratch') + 1)
  return stage.replaceAll('--from=build ', '').replaceAll(/^(COPY .*)\/image\//gm, '$1')
}
