/** A fast start: `serve` does not load packages that are only needed later. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildServer } from '../../packages/server/build.js'
import { serveProcess } from '../support/process.ts'

const DIST = fileURLToPath(new URL('../../packages/server/dist/', import.meta.url))
const data = mkdtempSync(join(tmpdir(), 'gatehouse-load-'))
after(() => rmSync(data, { recursive: true, force: true }))

const NOT_AT_START = [
  '@node-rs/argon2',
  '@simplewebauthn/server',
  '@msgpack/msgpack',
  'ajv',
  'lean-qr',
  'nodemailer',
  'pg',
  'typebox',
  'undici',
  'yaml',
]

test('a second start on SQLite loads none of the large packages', async () => {
  const folder = join(data, 'first')
  await (await serveProcess(['--data', folder, '--demo'])).stop()
  const preload = fileURLToPath(new URL('../support/loaded-packages.ts', import.meta.url))
  const server = await serveProcess(['--data', folder, '--demo'], {
    environment: { NODE_OPTIONS: `--import ${preload}` },
  })
  server.child.kill('SIGUSR2')
  const loaded = await new Promise<string[]>((resolve) => {
    const look = () => {
      const line = /^loaded (.*)$/m.exec(server.output().stderr)?.[1]
      if (line !== undefined) resolve(line.split(' '))
    }
    server.child.stderr?.on('data', look)
  })
  await server.stop()
  assert.ok(loaded.includes('pino'), 'loaded packages are detected')
  assert.deepEqual(
    NOT_AT_START.filter((name) => loaded.includes(name)),
    [],
  )
})

test('the bundles are ASCII: the source of a server takes one byte in memory for each character', async () => {
  await buildServer()
  for (const name of ['serve', 'worker', 'query-process-main'])
    assert.doesNotMatch(readFileSync(join(DIST, `${name}.js`), 'latin1'), /[^\0-\x7f]/, name)
})
