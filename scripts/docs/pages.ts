/** Renders every page that has a generator in this folder. */
import { glob } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { GeneratedPage } from './page.ts'

export async function generatedPages(): Promise<{ path: string; text: string }[]> {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const files = await Array.fromAsync(glob('*.page.ts', { cwd: folder }))
  return Promise.all(
    files.sort().map(async (file) => {
      const { page }: { page: GeneratedPage } = await import(`./${file}`)
      return { path: page.path, text: await page.render() }
    }),
  )
}
