/** Renders every page that has a generator in this folder, and the declarations of the client library. */
import { glob } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { clientTypes } from './client-types.ts'
import type { GeneratedPage } from './page.ts'

export async function generatedPages(): Promise<{ path: string; text: string }[]> {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const files = await Array.fromAsync(glob('*.page.ts', { cwd: folder }))
  const pages = await Promise.all(
    files.sort().map(async (file) => {
      const { page }: { page: GeneratedPage } = await import(`./${file}`)
      return { path: page.path, text: await page.render() }
    }),
  )
  return [...pages, ...(await clientTypes())]
}
