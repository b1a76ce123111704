/** What the hand-written pages say exists: commands, settings, and the files they point at. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import { environmentName, fileName, settingNames } from '../../src/config.ts'

const root = new URL('../../', import.meta.url).pathname
const pages = ['README.md', ...(await Array.fromAsync(glob('docs/**/*.md', { cwd: root })))]

for (const page of pages.sort()) {
  test(`${page} names commands, settings and files that exist`, async () => {
    const text = await readFile(join(root, page), 'utf8')
    const wrong: string[] = []
    const names = new Set(COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] ?? '']))
    for (const [, words = ''] of text.matchAll(
      /(?:^|[`\n]|sudo |npx |node-a )(?:gatehouse|gate) ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/g,
    )) {
      const [first = ''] = words.split(' ')
      const isGroup = COMMANDS.some(({ name }) => name.startsWith(`${first} `))
      if (!names.has(isGroup ? words : first) && first !== 'help') wrong.push(`gatehouse ${words}`)
    }
    const settings = new Set(settingNames().map(environmentName))
    for (const [name] of text.matchAll(/\bGATEHOUSE_[A-Z_]*[A-Z]\b/g))
      if (!settings.has(name) && !(name === 'GATEHOUSE_LIMIT')) wrong.push(name)
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g))
      if (!existsSync(join(root, dirname(page), target))) wrong.push(`link to ${target}`)
    assert.deepEqual(wrong, [])
  })
}

test('the settings that the example files use exist', async () => {
  const known = new Set(settingNames().map(environmentName))
  assert.ok(known.size > 20 && settingNames().map(fileName).includes('master_key'))
  for (const file of ['Dockerfile', 'compose.yaml', 'examples/systemd/gatehouse.service']) {
    const text = await readFile(join(root, file), 'utf8')
    const used = [...text.matchAll(/\bGATEHOUSE_[A-Z_]*[A-Z]\b/g)].map(([name]) => name)
    assert.ok(used.length > 0, file)
    assert.deepEqual(
      used.filter((name) => !known.has(name)),
      [],
      file,
    )
  }
})
