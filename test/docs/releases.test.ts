/** Pages name no release of Gatehouse that does not exist. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'

const root = new URL('../../', import.meta.url).pathname

test('tags and images on the pages are of releases in the changelog', async () => {
  const changelog = await readFile(`${root}CHANGELOG.md`, 'utf8')
  const released = new Set([...changelog.matchAll(/^## \[?v?(\d+\.\d+\.\d+)/gm)].map(([, version]) => version))
  const wrong: string[] = []
  for await (const file of glob(['*.md', 'docs/**/*.md', 'examples/**/*', 'compose.yaml', 'Dockerfile'], {
    cwd: root,
    // Packages of the samples, and what was built from them, have separate versions.
    exclude: ['**/node_modules/**', '**/go.{mod,sum}', 'examples/rust/target/**'],
  })) {
    const text = await readFile(root + file, 'utf8').catch(() => '')
    for (const [written, , version = ''] of text.matchAll(/(\bv|\bgatehouse[:@/ -]v?)(\d+\.\d+\.\d+)\b/gi))
      if (!released.has(version)) wrong.push(`${file}: ${written}`)
  }
  assert.deepEqual(wrong, [])
})
