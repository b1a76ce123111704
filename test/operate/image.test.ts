/** The container image: what it declares and contains, and that it runs without rights on a file system that it cannot write. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ARCHIVE, compressedBytes, IMAGE, missingTools } from '../../scripts/image/build.ts'
import { type Containers, openContainers } from '../support/containers.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** What the Dockerfile and the image of buildah have in common. */
const DECLARED = {
  User: '1000:1000',
  ExposedPorts: { '5080/tcp': {}, '9464/tcp': {} },
  Env: [
    'PATH=/usr/local/bin',
    'NODE_ENV=production',
    'GATEHOUSE_HOST=0.0.0.0',
    'GATEHOUSE_PORT=5080',
    'GATEHOUSE_DATA=/var/lib/gatehouse',
  ],
  Entrypoint: ['gatehouse'],
  Cmd: ['serve'],
  Volumes: { '/var/lib/gatehouse': {} },
  WorkingDir: '/app',
  StopSignal: 'SIGTERM',
}

describe('the image', { skip: reasonToSkip() }, () => {
  let containers: Containers
  let data: string
  before(async () => {
    containers = await openContainers()
    await containers.podman('load', '--input', ARCHIVE)
    data = await mkdtemp(join(tmpdir(), 'gatehouse-image-data-'))
    if (process.getuid?.() === 0) await chown(data, 1000, 1000)
  })
  after(async () => {
    await containers.close()
    await rm(data, { recursive: true, force: true })
  })

  test('declares what the Dockerfile declares', async () => {
    const { Config, Healthcheck } = JSON.parse(await containers.podman('image', 'inspect', IMAGE))[0]
    assert.partialDeepStrictEqual(Config, DECLARED)
    assert.deepEqual(Config.Env, DECLARED.Env)
    assert.deepEqual(Healthcheck.Test, ['CMD', 'gatehouse', 'health'])
  })

  test('takes less than 150 MB when compressed', async () => {
    const bytes = await compressedBytes(ARCHIVE)
    assert.ok(bytes < 150e6, `${bytes} bytes`)
  })

  test('has one Node, no shell, nothing that gains rights, and nothing that its user may change', async () => {
    const output = await containers.podman(
      ...['run', '--rm', '--no-healthcheck', '--entrypoint', 'node', '--network', 'host'],
      ...['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--user', '0:0', IMAGE, '--eval', SURVEY],
    )
    const { nodes, shells, raised, owned } = JSON.parse(output)
    assert.deepEqual(nodes, ['/usr/local/bin/node'])
    assert.deepEqual(shells, [])
    assert.deepEqual(raised, [])
    assert.deepEqual(owned, ['/var/lib/gatehouse'])
  })

  for (const workers of ['1', '2'])
    test(`serves without rights on a read-only file system, and stops on SIGTERM (workers: ${workers})`, async () => {
      const port = await freePort()
      const name = `server-${workers}`
      const settings = { PORT: port, ISSUER: 'https://gate.example.com', STOP_DELAY: 1, WORKERS: workers }
      const variables = Object.entries(settings).flatMap(([key, value]) => ['--env', `GATEHOUSE_${key}=${value}`])
      const options = [
        ...variables,
        '--env',
        'GATEHOUSE_TRUSTED_PROXIES=127.0.0.1',
        '--volume',
        `${data}:/var/lib/gatehouse`,
      ]
      await containers.start(name, options, IMAGE)
      const get = (path: string) =>
        fetch(`http://127.0.0.1:${port}${path}`).then(
          ({ status }) => status,
          () => 0,
        )
      await until('it is ready', 30_000, async () => (await get('/readyz')) === 200)
      assert.equal(await get('/console/'), 200)
      assert.equal(await get('/docs'), 200)

      // Not an empty answer but a status of 0: the check of the image itself.
      await containers.podman('healthcheck', 'run', name)
      const link = await containers.podman('exec', name, 'gatehouse', 'user', 'first-admin')
      assert.match(link, /https:\/\/gate\.example\.com\/set-up\?token=/)
      const state = await containers.podman('exec', name, 'node', '--eval', STATE)
      assert.deepEqual(JSON.parse(state), { user: 1000, write: 'EROFS', rights: '0000000000000000', raise: '1' })

      const began = performance.now()
      await containers.podman('stop', '--time', '30', name)
      assert.ok(performance.now() - began < 15_000)
      assert.equal(await containers.podman('inspect', name, '--format', '{{.State.ExitCode}}'), '0')
    })
})

function reasonToSkip(): string | false {
  if (!IS_LONG_RUN) return 'in npm run test:all'
  const missing = missingTools(['podman'])
  if (missing !== undefined) return missing
  return existsSync(ARCHIVE) ? false : 'there is no image: run "npm run image", which says what it needs'
}

/** Runs in a container: looks at every file of the image. */
const SURVEY = `
const { readdirSync, lstatSync } = require('node:fs')
const found = { nodes: [], shells: [], raised: [], owned: [] }
const visit = (folder) => {
  for (const { name, parentPath } of readdirSync(folder, { withFileTypes: true })) {
    const path = (parentPath === '/' ? '' : parentPath) + '/' + name
    if (['/proc', '/sys', '/dev', '/run'].includes(path)) continue
    const file = lstatSync(path)
    if (file.isFile() && /^node(js)?$/.test(name)) found.nodes.push(path)
    if (/^(ba|da|a|z|k)?sh$|^busybox$/.test(name)) found.shells.push(path)
    if (file.mode & 0o6000) found.raised.push(path)
    if (file.uid !== 0 || (file.mode & 0o002 && !file.isSymbolicLink() && path !== '/tmp')) found.owned.push(path)
    if (file.isDirectory()) visit(path)
  }
}
visit('/')
process.stdout.write(JSON.stringify(found))`

/** Runs beside the server, which is process 1 of the container. */
const STATE = `
const { readFileSync, writeFileSync } = require('node:fs')
let write = 'possible'
try { writeFileSync('/app/file', '') } catch ({ code }) { write = code }
const status = readFileSync('/proc/1/status', 'utf8')
const line = (name) => new RegExp(name + ':\\\\s*(\\\\S+)').exec(status)[1]
process.stdout.write(JSON.stringify({ user: Number(line('Uid')), write, rights: line('CapEff'), raise: line('NoNewPrivs') }))`
