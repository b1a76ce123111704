/** Words: hand-written pages name only commands, settings and files that exist, and no text uses a coined metaphor. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { environmentName, fileName, settingNames } from '../../packages/server/src/config/config.ts'
import { isOfPlatform } from '../../packages/server/src/config/load.ts'

const root = new URL('../../', import.meta.url).pathname
const pages = ['README.md', 'SECURITY.md', ...(await Array.fromAsync(glob('docs/**/*.md', { cwd: root })))]

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
      if (!settings.has(name) && name !== 'GATEHOUSE_LIMIT' && !isOfPlatform(name, '')) wrong.push(name)
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

/** Metaphors that the project once used, and the field's word for each. */
const COINED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bdoors?\b/, 'endpoint, route or rate limit'],
  [/\bannex(es)?\b/, 'lazy route group'],
  [/\b(take|takes|taken|taking|took) back\b/, 'revoke, or roll back'],
  [/\bdeny ?lists?\b/, 'revocation list'],
  [/\bassembl(y|ies)\b/, 'cluster'],
  [/\bstumbl(e|es|ed|ing)\b/, 'fail'],
  [/\blately\b/, 'recent'],
  [/\bjourneys?\b/, 'round trip'],
  [/\btrains?\b/, 'pipeline'],
  [/\bstrays?\b/, 'unbatchable'],
  [/\bturnstiles?\b/, 'semaphore'],
  [/\bstep behind\b/, 'lower priority'],
  [/\bled away\b/, 'redirected'],
  [/\bupkeep\b/, 'background job'],
  [/\bground\b/, 'resources'],
  [/\bsurroundings\b/, 'context'],
  [/\ballowances?\b/, 'rate'],
  [/\boutlets?\b/, 'transport'],
  [/\bwhoever\b/, 'the caller, the user, anyone who'],
  [/\bunheard\b/, 'unanswered'],
  [/\bfor good\b/, 'permanently'],
  [/\b(give|gives|gave) way\b/, 'be replaced'],
  [/\bin (its|their) turn\b/, 'then'],
  [/\bthe day when\b/, 'when'],
  [/\bminds? no\b/, 'ignore'],
]

test('comments, messages, names and pages use the words of the field', async () => {
  const found: string[] = []
  const sources = [
    '{src,packages/console/src,scripts,test,bench,fuzz,examples}/**/*.{ts,tsx,js}',
    '{docs,bench,examples}/**/*.md',
    '*.md',
  ]
  for await (const file of glob(sources, { cwd: root, exclude: ['**/node_modules/**'] })) {
    // The changelog names what was renamed.
    if (file === 'test/docs/words.test.ts' || file === 'CHANGELOG.md') continue
    const lines = [file, ...(await readFile(join(root, file), 'utf8')).split('\n')]
    for (const [number, line] of lines.entries()) {
      const words = splitWords(line)
      for (const [pattern, instead] of COINED) {
        const [word] = pattern.exec(words) ?? []
        if (word !== undefined) found.push(`${file}:${number}: "${word}" (${instead})`)
      }
    }
  }
  assert.deepEqual(found.sort(), [])
})

/** `takeBack`, `take-back` and `TAKE_BACK` as `take back`. */
function splitWords(line: string): string {
  return line
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[-_]/g, ' ')
    .toLowerCase()
}
