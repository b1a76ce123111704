/** Generated pages are current, and links between pages work. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { pasteLines } from '../../packages/server/src/cli/output/banner.ts'
import { checkMeaning } from '../../packages/server/src/declarative/check-meaning.ts'
import { checkShape } from '../../packages/server/src/declarative/check-shape.ts'
import { generatedPages } from '../../scripts/docs/pages.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('every generated page is current (if not, run "npm run docs")', async () => {
  const pages = await generatedPages()
  assert.ok(pages.length > 0)
  for (const { path, text } of pages) {
    assert.ok(existsSync(join(root, path)), `${path} is missing`)
    assert.equal(await readFile(join(root, path), 'utf8'), text, `${path} is stale`)
  }
  const types = await Array.fromAsync(glob('packages/client/types/**/*.d.ts', { cwd: root }))
  assert.deepEqual(
    types.sort(),
    pages.map(({ path }) => path).filter((path) => path.startsWith('packages/client/types/')),
    'declarations of sources that are gone',
  )
})

test('every link between pages leads to a file', async () => {
  const broken: string[] = []
  let links = 0
  const pages = ['*.md', 'docs/**/*.md', 'bench/*.md', 'examples/**/*.md']
  for await (const page of glob(pages, { cwd: root, exclude: ['**/node_modules/**'] })) {
    const text = (await readFile(join(root, page), 'utf8')).replaceAll(/```[\s\S]*?```/g, '')
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:|#)/.test(target)) continue
      links++
      const file = join(root, dirname(page), target.split('#', 1)[0] ?? '')
      if (!existsSync(file)) broken.push(`${page}: ${target}`)
    }
  }
  assert.ok(links > 0)
  assert.deepEqual(broken, [])
})

test('the README has the commands of the demo banner', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  for (const line of pasteLines('http://localhost:5080')) assert.ok(readme.includes(`\n${line}\n`), line)
})

test('the example of a declarative file in the guide is valid', async () => {
  const guide = await readFile(join(root, 'docs/configuration.md'), 'utf8')
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? []
  const checked = checkShape(parse(example))
  assert.ok('declaration' in checked, JSON.stringify(checked))
  assert.ok((checked.declaration.clients ?? []).length > 0)
  assert.deepEqual(checkMeaning(checked.declaration, []), [])
})
