/** The changelog has a section for each release, and pages name no release of Gatehouse that does not exist. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AUDIENCES, findSection } from '../../scripts/release/changelog.ts'
import { readReleases } from '../../scripts/release/releases.ts'

const root = new URL('../../', import.meta.url).pathname

test('every section of the changelog has a date, and says for whom its entries are', async () => {
  const changelog = await readFile(`${root}CHANGELOG.md`, 'utf8')
  const headings = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading)
  assert.ok(headings.length > 0)
  for (const heading of headings) {
    if (heading === 'Unreleased') continue
    assert.match(heading, /^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/)
    const section = findSection(changelog, heading.split(' ')[0] ?? '') ?? ''
    assert.ok(
      AUDIENCES.some((audience) => section.includes(`### ${audience}\n`)),
      heading,
    )
  }
  const candidates = /-rc\./
  for (const { version } of await readReleases(root))
    assert.ok(candidates.test(version) || headings.some((heading) => heading.startsWith(`${version} - `)), version)
})

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
