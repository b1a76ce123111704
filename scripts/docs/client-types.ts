/** packages/client/types: the declarations of the client library. They are stored, because an installation has no compiler. */
import { execFile } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function clientTypes(): Promise<{ path: string; text: string }[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-types-'))
  try {
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    await promisify(execFile)(process.execPath, [compiler, '-p', join(ROOT, 'packages/client'), '--outDir', folder])
    const files = await Array.fromAsync(glob('**/*.d.ts', { cwd: folder }))
    const read = async (file: string) => ({
      path: `packages/client/types/${file}`,
      text: await readFile(join(folder, file), 'utf8'),
    })
    return await Promise.all(files.sort().map(read))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
