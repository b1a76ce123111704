/** The files and names of the code map are those of the sources. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SOURCES = ['packages/*/src/**/*', 'packages/*/bin/*', 'bin/*', 'test/**/*.ts', 'scripts/**/*.ts', 'docs/*']

test('every file of the code map exists, and has the names that stand after it', async () => {
  const map = await readFile(`${root}/docs/code-map.md`, 'utf8')
  const files = await Array.fromAsync(glob(SOURCES, { cwd: root }))
  const problems: string[] = []
  // A path is written from the root, from the sources of the server, or from the folder that the section is about.
  for (const [, path = '', names = ''] of map.matchAll(
    /`((?![^`]*NAME)[\w/.-]+\/[\w.-]+\.[jt]sx?)`((?:,? `[A-Za-z.]+`)*)/g,
  )) {
    const found = files.filter((file) => file === path || file.endsWith(`/${path}`))
    if (found.length === 0) problems.push(`There is no file ${path}`)
    const texts = await Promise.all(found.map((file) => readFile(`${root}/${file}`, 'utf8')))
    for (const [, name = ''] of names.matchAll(/`(?:[A-Za-z]+\.)?([A-Za-z]+)`/g))
      if (texts.length > 0 && !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
        problems.push(`${path} has no ${name}`)
  }
  assert.deepEqual(problems, [])
})
