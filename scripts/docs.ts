/** Writes the generated pages of docs/, and packages/client/types; test/docs/generated.test.ts checks that they are current. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { generatedPages } from './docs/pages.ts'

const root = new URL('..', import.meta.url)

const pages = await generatedPages()
// Of a source that is gone.
await rm(new URL('packages/client/types', root), { recursive: true, force: true })
for (const { path, text } of pages) {
  await mkdir(new URL('.', new URL(path, root)), { recursive: true })
  await writeFile(new URL(path, root), text)
  process.stdout.write(`${path}\n`)
}
