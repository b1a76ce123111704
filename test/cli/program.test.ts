/** Which program is run: the bundle if it was built from the sources as they are, or else the sources. Both behave alike. */
import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildServer } from '../../packages/server/build.js'
import { signIn } from '../support/demo-user.ts'
import { serveProcess } from '../support/process.ts'
import { connect } from '../support/stream-client.ts'

const ROOT = fileURLToPath(new URL('../../packages/server', import.meta.url))

test('the bundle is run only if no source was changed, added or removed since it was built', async (t) => {
  const clone = await mkdtemp(join(tmpdir(), 'gatehouse-program-'))
  t.after(() => rm(clone, { recursive: true, force: true }))
  const root = join(clone, 'server')
  await cp(join(ROOT, 'bin'), join(root, 'bin'), { recursive: true })
  for (const folder of ['src/cli', 'src/lib', 'dist', '../client/src', '../csv/src', '../iql/src', '../protocol/src'])
    await mkdir(join(root, folder), { recursive: true })
  const sources = ['package.json', 'build.js', 'src/cli/main.ts', 'src/lib/a.ts', 'src/lib/b.ts'].map((file) =>
    join(root, file),
  )
  const [, , main = '', a = '', b = ''] = sources
  for (const file of sources) await writeFile(file, '{ "type": "module" }')
  const { chooseProgram, sourcesState, STATE_FILE } = await import(pathToFileURL(join(root, 'bin/program.js')).href)
  const build = async () => {
    const old = new Date(Date.now() - 10_000)
    for (const path of [...sources, join(root, 'src/cli'), join(root, 'src/lib')]) await utimes(path, old, old)
    await writeFile(STATE_FILE, JSON.stringify(sourcesState()))
    assert.equal(chooseProgram('cli/main.ts'), pathToFileURL(join(root, 'dist/main.js')).href)
  }
  const expectSource = (why: string) => assert.equal(chooseProgram('cli/main.ts'), pathToFileURL(main).href, why)
  expectSource('nothing is built')
  const changes: Record<string, () => Promise<void>> = {
    'a file is newer': () => writeFile(a, '2'),
    'a file of the same time is longer': async () => {
      await writeFile(a, '22')
      await utimes(a, new Date(Date.now() - 10_000), new Date(Date.now() - 10_000))
    },
    'a file is new': () => writeFile(join(root, 'src/lib/c.ts'), '1'),
    'a file has another name': () => rename(b, join(root, 'src/lib/d.ts')),
  }
  for (const [why, change] of Object.entries(changes)) {
    await build()
    await change()
    expectSource(why)
  }
})

test('the bundle serves all services; a controller that is loaded refuses as with the sources', async (t) => {
  await buildServer()
  const data = await mkdtemp(join(tmpdir(), 'gatehouse-bundle-'))
  const controllers = join(ROOT, '../../examples/ticker')
  const server = await serveProcess(['--demo', '--data', data, '--stream-controllers', controllers])
  t.after(async () => {
    await server.stop()
    await rm(data, { recursive: true, force: true })
  })
  assert.equal((await fetch(`${server.issuer}/readyz`)).status, 200)
  for (const page of ['/', '/connect/authorize', '/docs', '/console', '/admin/v1/users', '/openapi.json'])
    assert.ok((await fetch(server.issuer + page)).status < 500, page)
  const { access_token: token } = await signIn(server)
  const authorization = `Bearer ${token}`
  const reply = await fetch(`${server.issuer}/query`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'text/plain; charset=utf-8' },
    // Not small: a reader process runs it.
    body: 'select count(*) as n from trades a join trades b on a.id = b.id',
  })
  assert.deepEqual(((await reply.json()) as { Rows: unknown }).Rows, [{ n: 4000 }])
  const client = await connect(server.port, { headers: { authorization } })
  const refused = await client.request({ Controller: 'Ticker', Topic: 'Price/NOBODY', TransactionID: 7 })
  assert.equal(refused.Action, 'Error')
  assert.match(JSON.stringify(refused), /Operation\.Unknown/)
  client.socket.close()
  assert.doesNotMatch(server.output().stdout, /"level":"(error|fatal)"/)
})

/** Loaded into the server before anything else: says which source maps are read. */
const REPORT_MAPS = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { readFileSync } = fs
fs.readFileSync = (file, ...more) => {
  if (String(file).endsWith('.map')) process.stderr.write('reads ' + file + '\\n')
  return readFileSync(file, ...more)
}
syncBuiltinESMExports()`

test('stack traces of the bundle name the sources and their lines; their maps are not read before', async (t) => {
  await buildServer()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-stacks-'))
  const controller = join(folder, 'faulty.js')
  await writeFile(
    controller,
    `export default { name: 'Faulty', summary: 'Fails.', topics: { Fail: { summary: 'Fails.', needs: 'identity', publish() { throw new Error('a fault') } } } }`,
  )
  const preloaded = join(folder, 'report-maps.mjs')
  await writeFile(preloaded, REPORT_MAPS)
  const server = await serveProcess(['--demo', '--data', join(folder, 'data'), '--stream-controllers', controller], {
    environment: { NODE_OPTIONS: `--import=${pathToFileURL(preloaded)}` },
  })
  t.after(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const { access_token: token } = await signIn(server)
  const client = await connect(server.port, { headers: { authorization: `Bearer ${token}` } })
  assert.doesNotMatch(server.output().stderr, /reads/)
  await client.request({ Controller: 'Faulty', Topic: 'Fail', TransactionID: 7 })
  client.socket.close()
  await server.stop()
  assert.match(server.output().stderr, /reads .*\.map/)
  const lines = server
    .output()
    .stdout.split('\n')
    .filter((line) => line.includes('a fault'))
  const stack: string = JSON.parse(lines[0] ?? '{}').err.stack
  const frames = stack.split('\n').slice(2)
  assert.match(stack, /^Error: a fault\n {4}at .*faulty\.js:1:\d+/)
  for (const frame of frames) assert.doesNotMatch(frame, /\/dist\//, stack)
  const [, file = '', line = '', column = ''] =
    /\((file:.*\/src\/streaming\/connection\/[\w-]+\.ts):(\d+):(\d+)\)$/m.exec(frames.join('\n')) ?? []
  const source = (await readFile(new URL(file), 'utf8')).split('\n')
  assert.match(source[Number(line) - 1]?.slice(Number(column) - 1) ?? '', /^publish\b/, stack)
})
