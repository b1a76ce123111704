/** The files and names of the code map are those of the sources. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
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
      if (texts.length > 0 && !texts.some((text) => declares(text, name))) problems.push(`${path} has no ${name}`)
  }
  for (const [, path = ''] of map.matchAll(/`((?:packages|docs|test|scripts|examples)\/[\w/-]+)`/g))
    if (!existsSync(`${root}/${path}`)) problems.push(`There is no folder ${path}`)
  assert.deepEqual(problems, [])
})

/** As a declaration, a method or a member: a call alone does not count. */
function declares(text: string, name: string): boolean {
  const declared = `(?:function\\*?|class|const|let|interface|type|enum) ${name}\\b`
  const member = `^ +(?:(?:readonly|static|async|get|export) )*[*#]?${name}\\??(?:<.*>)?(?:\\(.*\\{$|\\($|\\(.*\\)?: |:|,$)`
  return new RegExp(`${declared}|${member}`, 'm').test(text)
}
