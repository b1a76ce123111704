/** Writes the generated pages of docs/; test/docs/generated.test.ts checks that they are current. */
import { writeFile } from 'node:fs/promises'
import { generatedPages } from './docs/pages.ts'

const root = new URL('..', import.meta.url)

for (const { path, text } of await generatedPages()) {
  await writeFile(new URL(path, root), text)
  process.stdout.write(`${path}\n`)
}
