/** The package of the client library: its size, its parts, its types, and what it may use. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildClient } from '../../packages/client/build.js'

const client = fileURLToPath(new URL('../../packages/client/', import.meta.url))
const run = promisify(execFile)

before(() => buildClient())

/** Bytes of what an application that imports these names is sent: bundled, minified, compressed. */
async function measureSize(names: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${names} } from './dist/index.js'`, resolveDir: client },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    write: false,
  })
  return gzipSync(outputFiles[0]?.contents ?? new Uint8Array(), { level: 9 }).length
}

/**
 * Feeds took it from 15 to 17 kB. As a second file, loaded by the first `gate.feed(…)`, they would have kept the 15, but `subscribe` returns
 * a store at once, and pages that copy, version, preload or pin the hash of one file would have two to keep in step. Step-up took 0.4 kB, in
 * requests, streams and sign-in: it cannot be a file of its own either; nor can what results, live queries and feeds say of licences (0.5 kB).
 */
const MOST_BYTES = 18_500

test('all of it is at most 18.5 kB compressed, and parts are smaller', async (t) => {
  const whole = gzipSync(await readFile(join(client, 'dist', 'index.min.js')), { level: 9 }).length
  const parts = {
    'sign-in in a browser, and queries': await measureSize('Http, browser, createQuery'),
    'sign-in in a browser': await measureSize('Http, browser'),
    'queries with a token from elsewhere': await measureSize('Http, getToken, createQuery'),
    'live queries with a token from elsewhere': await measureSize('Http, getToken, Stream, createLive'),
    'live queries by server-sent events': await measureSize('Http, getToken, LiveEvents, createLive'),
    'feeds with a token from elsewhere': await measureSize('Http, getToken, Stream, createFeeds'),
  }
  for (const [name, size] of Object.entries({ all: whole, ...parts })) t.diagnostic(`${size} bytes: ${name}`)
  assert.ok(whole <= MOST_BYTES, `${whole} bytes`)
  assert.ok(parts['feeds with a token from elsewhere'] <= 10_000)
  assert.ok(parts['queries with a token from elsewhere'] <= 6_500)
  assert.ok(parts['sign-in in a browser'] <= 7_000)
  assert.ok(parts['live queries with a token from elsewhere'] <= 10_000)
  assert.ok(parts['live queries by server-sent events'] <= 7_500)
})

test('dpop() is a file of its own with at most 1.6 kB compressed', async (t) => {
  const bytes = gzipSync(await readFile(join(client, 'dist', 'dpop.min.js')), { level: 9 }).length
  t.diagnostic(`${bytes} bytes`)
  assert.ok(bytes <= 1_600, `${bytes} bytes`)
})

test('the sources import only each other', async () => {
  for await (const file of glob('src/**/*.ts', { cwd: client })) {
    const text = await readFile(join(client, file), 'utf8')
    assert.match(text, /^\/\*\* [A-Z`]/, `${file} begins with what it is`)
    for (const [, target = ''] of text.matchAll(/^(?:import|export|}).* from '([^']+)'|\bimport\('([^']+)'/gm))
      assert.match(target, /^\.\.?\/[a-z./-]+\.ts$/, `${file} imports ${target}`)
  }
  const manifest = JSON.parse(await readFile(join(client, 'package.json'), 'utf8'))
  assert.equal(manifest.dependencies, undefined)
  assert.equal(manifest.sideEffects, false)
})

test('there is no import cycle in the client, not even of types', async () => {
  const targets = new Map<string, string[]>()
  for await (const file of glob('src/**/*.ts', { cwd: client })) {
    const text = await readFile(join(client, file), 'utf8')
    const found = [...text.matchAll(/\bfrom '([^']+)'/g)].map(([, target = '']) => join(file, '..', target))
    targets.set(file, found)
  }
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), [...path, file].join(' → '))
    for (const target of targets.get(file) ?? []) visit(target, [...path, file])
  }
  for (const file of targets.keys()) visit(file, [])
})

test('built without a compiler, as npm start does, it has every file that its manifest names; so has an earlier build', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-'))
  try {
    const copy = join(folder, 'client')
    await cp(client, copy, { recursive: true, filter: (file) => !/[/\\](dist|node_modules)$/.test(file) })
    await mkdir(join(folder, 'node_modules'))
    for (const name of ['esbuild', '@esbuild'])
      await symlink(join(client, '../../node_modules', name), join(folder, 'node_modules', name))
    const script = `await (await import('${copy}/build.js')).buildClient()`
    const manifest: { exports: Record<string, string | Record<string, string>>; types: string } = JSON.parse(
      await readFile(join(copy, 'package.json'), 'utf8'),
    )
    const entries = Object.values(manifest.exports)
    const named = [
      ...entries.flatMap((entry) => (typeof entry === 'string' ? entry : Object.values(entry))),
      manifest.types,
    ]
    const missing = () => named.filter((file) => !existsSync(join(copy, file)))
    assert.ok(named.includes('./dist/index.min.js') && named.some((file) => file.endsWith('.d.ts')))
    for (const round of ['at first', 'again']) {
      await run(process.execPath, ['--input-type=module', '-e', script])
      assert.deepEqual(missing(), [], round)
      // As a build that was broken off left it.
      await rm(join(copy, 'dist', 'index.min.js'))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('installed from its files, it is typed: with the types of the DOM and with those of Node', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-'))
  try {
    const installed = join(folder, 'node_modules', 'gatehouse-client')
    await mkdir(installed, { recursive: true })
    const { files } = JSON.parse(await readFile(join(client, 'package.json'), 'utf8')) as { files: readonly string[] }
    for (const name of [...files.filter((file) => !file.startsWith('!')), 'package.json'])
      await cp(join(client, name), join(installed, name), { recursive: true })
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(
      join(folder, 'app.ts'),
      `import { browser, Gatehouse, password, QueryError, sql } from 'gatehouse-client'
interface Trade { id: number; symbol: string }
const gate = new Gatehouse('https://gate.example.com', { auth: browser({ clientId: 'spa', scope: 'openid' }) })
export async function main(): Promise<string> {
  if (!(await gate.auth.signedIn())) await gate.auth.signIn({ popup: true })
  const rows: Trade[] = await gate.query<Trade>\`select * from trades where \${sql\`id = \${1}\`}\`
  for await (const row of gate.query<Trade>\`select * from trades\`.stream()) row.symbol.trim()
  const live = gate.live<Trade>\`select * from trades\`
  for await (const { put } of live) put[0]?.symbol.trim()
  await gate.table<Trade>('trades').insert({ id: 1 }, { idempotencyKey: 'x' })
  gate.on('state', ({ state }) => state === 'lapsed')
  // @ts-expect-error there is no such state
  gate.on('state', ({ state }) => state === 'sleeping')
  // @ts-expect-error a password has no sign-in page
  await new Gatehouse('https://x', { auth: password({ clientId: 'x', username: 'a', password: 'b' }) }).auth.signIn()
  // @ts-expect-error a statement is a template
  await gate.query('select 1')
  return rows[0]?.symbol ?? String(new QueryError('', { code: 'x' }).caret)
}
`,
    )
    const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
    const types = fileURLToPath(new URL('../../node_modules/@types', import.meta.url))
    const usual = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', 'app.ts']
    for (const libraries of [
      ['--lib', 'es2022,dom,dom.asynciterable', '--types', ''],
      ['--lib', 'es2023', '--typeRoots', types, '--types', 'node'],
    ])
      await run(process.execPath, [tsc, ...usual, ...libraries], { cwd: folder }).catch(({ stdout }) =>
        assert.fail(stdout),
      )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
