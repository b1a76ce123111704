/**
 * packages/client/types: the declarations of the client library that its entries reach. They are stored, because an installation has no
 * compiler.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function clientTypes(): Promise<{ path: string; text: string }[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-types-'))
  try {
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    await promisify(execFile)(process.execPath, [compiler, '-p', join(ROOT, 'packages/client'), '--outDir', folder])
    const reached = new Map<string, string>()
    for (const waiting = ['index.d.ts', 'dpop.d.ts']; waiting.length > 0; ) {
      const file = waiting.pop() ?? ''
      if (reached.has(file)) continue
      const text = await readFile(join(folder, file), 'utf8')
      reached.set(file, text)
      for (const [, name = ''] of text.matchAll(/from '(\.[^']*)\.ts'/g))
        waiting.push(`${join(dirname(file), name)}.d.ts`)
    }
    return [...reached].sort().map(([file, text]) => ({ path: `packages/client/types/${file}`, text }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
