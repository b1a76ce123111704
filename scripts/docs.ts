/** Writes the pages of docs/ that are made from the program itself; a test holds them against what is there. */
import { writeFile } from 'node:fs/promises'
import { generatedPages } from './docs/pages.ts'

const root = new URL('..', import.meta.url)

for (const { path, text } of await generatedPages()) {
  await writeFile(new URL(path, root), text)
  process.stdout.write(`${path}\n`)
}
