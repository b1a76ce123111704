/** The names `gatehouse` and `@gatehouse` on npm belong to others: nothing that we write may make a reader fetch them. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const PAGES = ['*.md', 'docs/**/*.{md,svg}', 'charts/**/*', 'clients/**/*.md', 'compose.yaml', 'Dockerfile']
const SOURCES = [
  'packages/*/{src,bin}/**/*.{ts,tsx,js,json}',
  'packages/*/README.md',
  'scripts/**/*.{ts,js}',
  'examples/**/*',
]
const LEFT_OUT = /(?:^|\/)(?:node_modules|target|\.venv)(?:\/|$)/

/** Each runs or installs a package of npm by its name. */
const FOREIGN: readonly (readonly [string, RegExp])[] = [
  ['the scope @gatehouse', /@gatehouse\//],
  [
    'a command that fetches what is not installed',
    /\b(?:npx|bunx|(?:npm|pnpm|yarn) (?:exec|x|dlx))\s+(?!--no\b)[\w@-]/,
  ],
  [
    'an installation of the package gatehouse',
    /\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add)\s+(?:-\S+\s+)*gatehouse(?![\w-])/,
  ],
  ['an image that is not built here', /\bdocker (?:run|pull) (?:-\S+ )*gatehouse(?:\s|$)/],
]

test('no page and no text of a program names a command that fetches a package of others', async () => {
  const found: string[] = []
  let pages = 0
  for await (const file of glob([...PAGES, ...SOURCES], { cwd: root })) {
    const text = LEFT_OUT.test(file) ? undefined : await readFile(`${root}/${file}`, 'utf8').catch(() => undefined)
    if (text === undefined) continue
    pages++
    for (const [what, pattern] of FOREIGN) {
      const match = pattern.exec(text)
      if (match !== null) found.push(`${file}: ${what}: ${match[0]}`)
    }
  }
  assert.ok(pages > 900, `${pages} files were read`)
  assert.deepEqual(found, [])
})

test('the patterns find what they are for', () => {
  const finds = (text: string) => FOREIGN.some(([, pattern]) => pattern.test(text))
  for (const text of [
    ...[
      'npx gatehouse query',
      'npx node x.mjs',
      'npm exec gatehouse',
      'pnpm dlx gatehouse',
      "from '@gatehouse/client'",
    ],
    ...['npm install gatehouse', 'npm i -g gatehouse', 'yarn add gatehouse', 'docker run gatehouse'],
  ])
    assert.ok(finds(text), text)
  for (const text of [
    ...['./gatehouse query', 'gatehouse query', 'npm install -g ./gatehouse-server-1.0.0.tgz', 'npx --no gatehouse'],
    ...["from 'gatehouse-client'", 'docker run localhost/gatehouse:1.0.0'],
  ])
    assert.ok(!finds(text), text)
})

test('each published package has its own name, and what npm needs to publish it', async () => {
  for (const name of ['server', 'client']) {
    const manifest = JSON.parse(await readFile(`${root}/packages/${name}/package.json`, 'utf8'))
    assert.equal(manifest.name, `gatehouse-${name}`)
    assert.equal(manifest.private, undefined)
    assert.equal(manifest.license, 'Apache-2.0')
    assert.equal(manifest.publishConfig.provenance, true)
    assert.equal(manifest.repository.directory, `packages/${name}`)
    assert.ok(manifest.files.length > 0 && !manifest.files.includes('src'))
  }
})
