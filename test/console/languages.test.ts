/** The catalogues of the console's other languages hold every text of its sources, and no other. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as esbuild from 'esbuild'
import { originFault, redirectUriFault } from 'gatehouse-protocol'
import { plainScript, readCatalogue, readTexts, translate } from '../../packages/console/texts.js'

const FOLDER = new URL('../../packages/console', import.meta.url).pathname
const LANGUAGES = readdirSync(join(FOLDER, 'languages'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
const KEPT: ReadonlySet<string> = new Set(JSON.parse(readFileSync(join(FOLDER, 'languages/kept.json'), 'utf8')))

/** Its messages are part of the pages. */
const ADDRESSES = join(FOLDER, '../protocol/src/addresses.ts')
const sources = readdirSync(join(FOLDER, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
  .map((file) => join(FOLDER, 'src', file))
  .concat(join(FOLDER, '../protocol/src/audit-events.ts'))
const scripts = await Promise.all(sources.map((file) => plainScript(file, esbuild)))
/** What every language needs, and what it can replace. */
const found = new Set(scripts.flatMap((script) => [...readTexts(script)]))
const replaceable = new Set<string>()
for (const script of [...scripts, await plainScript(ADDRESSES, esbuild)])
  translate(script, {
    get(text) {
      replaceable.add(text)
      return undefined
    },
  })

for (const { name } of LANGUAGES) {
  test(`no text is in two files of ${name}, nor among those that stay as they are`, () => {
    const folder = join(FOLDER, 'languages', name)
    const texts = readdirSync(folder).flatMap((file) =>
      Object.keys(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
    )
    const known = new Set(KEPT)
    assert.deepEqual(
      texts.filter((text) => known.has(text) || !known.add(text)),
      [],
    )
  })

  const catalogue = readCatalogue(join(FOLDER, 'languages', name))

  test(`every text of the console is in ${name}, or stays as it is in every language`, () => {
    assert.ok(found.size > 1000, `${found.size} texts`)
    assert.deepEqual(
      [...found].filter((text) => !catalogue.has(text) && !KEPT.has(text)),
      [],
    )
  })

  test(`${name} has no text that the console does not have`, () => {
    assert.deepEqual(
      [...catalogue.keys()].filter((text) => !replaceable.has(text)),
      [],
    )
  })

  test(`${name} has the values of each text, and ends as it ends`, () => {
    const wrong = [...catalogue].filter(
      ([english, text]) => `${readValues(english)}` !== `${readValues(text)}` || text.trim() !== text || text === '',
    )
    assert.deepEqual(wrong, [])
  })
}

test('no text stays as it is that is not in the sources', () => {
  assert.deepEqual(
    [...KEPT].filter((text) => !found.has(text)),
    [],
  )
})

test('literals are replaced where people read them, with their values; names stay', () => {
  const catalogue = new Map([
    ['Users', 'Personen'],
    ['No {0} in {1}', 'In {1} gibt es kein {0}'],
    ['none', 'keine'],
  ])
  const value = (code: string) => `\${${code}}`
  const label = ` No ${value('a ? "none" : b')} in ${value('"$`"')} `
  const script = `f({ title: "Users", id: "Users", label: \`${label}\`, kind: "none" })`
  const other = ` In ${value('"$`"')} gibt es kein ${value('a ? "keine" : b')} `
  assert.equal(translate(script, catalogue), `f({ title: "Personen", id: "Users", label: \`${other}\`, kind: "none" })`)
})

const WRONG_REDIRECT_URIS = [
  'x y',
  '*',
  '\\',
  'x',
  'a.b:#',
  'https://u@x',
  "https://x'y",
  'https://x/../y',
  'http://x',
  'x:/y',
]
const WRONG_ORIGINS = ['https://x/y', 'ftp://x']

for (const { name } of LANGUAGES) {
  test(`what is wrong with an address is said in ${name}`, async () => {
    const catalogue = readCatalogue(join(FOLDER, 'languages', name))
    const script = await plainScript(join(FOLDER, '../protocol/src/addresses.ts'), esbuild)
    const other = await import(`data:text/javascript,${encodeURIComponent(translate(script, catalogue))}`)
    for (const uri of WRONG_REDIRECT_URIS) assertDiffer(redirectUriFault(uri), other.redirectUriFault(uri))
    for (const origin of WRONG_ORIGINS) assertDiffer(originFault(origin), other.originFault(origin))
  })
}

function assertDiffer(english: string | undefined, other: unknown): void {
  assert.ok(english)
  assert.ok(typeof other === 'string')
  assert.notEqual(other, english)
}

function readValues(text: string): readonly string[] {
  return [...new Set(text.match(/\{\d\}/g))].sort()
}
