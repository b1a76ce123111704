/** An installation by one user, as root, whose server another user runs: docs/install.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { root } from '../support/clone.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, type RunOptions, runGatehouse, serveProcess } from '../support/process.ts'

const NOBODY = 65534
const COPIED = ['docs', 'packages', 'scripts', 'CHANGELOG.md', 'package.json', 'package-lock.json']
const isRoot = process.getuid?.() === 0

describe('an installation', {
  skip: !isRoot && 'only root can run the server as another user than the builder',
}, () => {
  let base: string
  let folder: string
  let data: string
  let asNobody: RunOptions

  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'gatehouse-installation-'))
    await chmod(base, 0o755)
    folder = join(base, 'gatehouse')
    for (const name of COPIED)
      await cp(join(root, name), join(folder, name), {
        recursive: true,
        preserveTimestamps: true,
        filter: (path) => !/(^|\/)(dist|dist-[^/]*)$/.test(path),
      })
    await mkdir(join(folder, 'node_modules'))
    // As --production would install them: without the compiler.
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== 'typescript') await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    data = join(base, 'data')
    spawnSync('install', ['-d', '-m', '0700', '-o', String(NOBODY), '-g', String(NOBODY), data])
    asNobody = { uid: NOBODY, program: join(folder, 'packages/server/bin/gatehouse.js'), cwd: '/' }
    setUp()
  })
  after(async () => {
    await rm(base, { recursive: true, force: true })
    await stopOwnPostgres()
  })

  /** With the umask of a careful administrator. */
  function setUp(): void {
    const run = spawnSync('sh', ['-c', 'umask 077; exec "$0" scripts/setup.js --production', process.execPath], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(run.status, 0, run.stderr)
  }

  async function whileServing(work: (server: RunningProcess) => Promise<void>): Promise<void> {
    const server = await serveProcess(['--data', data], asNobody)
    try {
      await work(server)
    } finally {
      await server.stop()
    }
  }

  async function doctorFaults(...flags: string[]): Promise<string[]> {
    const { stdout } = await runGatehouse(['doctor', '--json', '--data', data, ...flags], asNobody)
    const { findings }: { findings: { level: string; code: string }[] } = JSON.parse(stdout)
    return findings.filter(({ level }) => level === 'fault').map(({ code }) => code)
  }

  test('its console and documentation are served by the user of the service, and the doctor finds no fault', async () => {
    await whileServing(async ({ issuer }) => {
      const page = await fetch(`${issuer}/console`)
      assert.equal(page.status, 200)
      const [script = ''] = /\/console\/assets\/main-[^"]+\.js/.exec(await page.text()) ?? []
      assert.equal((await fetch(issuer + script)).status, 200)
      assert.equal((await fetch(`${issuer}/docs`, { headers: { accept: 'text/html' } })).status, 200)
      const ready = await fetch(`${issuer}/readyz`)
      assert.partialDeepStrictEqual(await ready.json(), { status: 'ok', checks: { installation: 'ok' } })
    })
    assert.deepEqual(await doctorFaults(), [])
  })

  test('gate, the script of the page, works on the database of the settings file, or not at all', async (t) => {
    const { url, drop } = await createPostgresDatabase()
    t.after(drop)
    const settings = join(base, 'gatehouse.env')
    const write = (databaseUrl: string) =>
      writeFile(settings, `GATEHOUSE_DATA=${data}-gate\nGATEHOUSE_DATABASE_URL=${databaseUrl}\n`)
    spawnSync('install', ['-d', '-m', '0700', '-o', String(NOBODY), '-g', String(NOBODY), `${data}-gate`])
    const page = await readFile(join(folder, 'docs', 'install.md'), 'utf8')
    const [, script = ''] = /sudo tee \/usr\/local\/sbin\/gate .*\n([\s\S]*?)\nEND\n/.exec(page) ?? []
    const file = join(base, 'gate')
    const ours = script
      .replace('/etc/gatehouse/gatehouse.env', settings)
      .replace('/usr/local/bin/gatehouse', `${process.execPath} ${asNobody.program}`)
      .replaceAll('id gatehouse', `id ${NOBODY}`)
    await writeFile(file, `${ours}\n`)
    const gate = (...args: string[]) => spawnSync('sh', [file, ...args], { encoding: 'utf8', cwd: '/' })
    // As the page about PostgreSQL says to write it.
    await write(`${url}?sslmode=disable&host=127.0.0.1`)
    assert.match(gate('migrate', '--create').stdout, /^The database postgres:\/\/\S+ was created/)
    assert.match(gate('role', 'add', 'trader').stdout, /trader/)
    assert.match(gate('role', 'list').stdout, /trader/)
    await write('')
    for (const command of [['role', 'list'], ['doctor'], ['backup', `${data}-gate/backup`]])
      assert.equal(gate(...command).status, 1, command.join(' '))
    assert.deepEqual(
      (await readdir(`${data}-gate`)).filter((name) => name.endsWith('.db')),
      [],
    )
  })

  test('the compile cache is in a folder of each user, and not used where others can write', async () => {
    const places = await mkdtemp(join(base, 'tmp-'))
    await chmod(places, 0o1777)
    const run = (options: RunOptions) =>
      runGatehouse(['--version'], { ...options, environment: { TMPDIR: places, NODE_COMPILE_CACHE: '' } })
    const cached = async (uid: number) => (await readdir(join(places, `gatehouse-cache-${uid}`))).length
    await run({})
    await run(asNobody)
    assert.deepEqual([await cached(0), await cached(NOBODY)], [1, 1])
    assert.deepEqual((await readdir(places)).length, 2)
    await rm(join(places, 'gatehouse-cache-0'), { recursive: true })
    for (const [owner, mode] of [
      [NOBODY, 0o700],
      [0, 0o777],
    ] as const) {
      await mkdir(join(places, 'gatehouse-cache-0'))
      await chmod(join(places, 'gatehouse-cache-0'), mode)
      await chown(join(places, 'gatehouse-cache-0'), owner, owner)
      await run({})
      assert.equal(await cached(0), 0)
      await rm(join(places, 'gatehouse-cache-0'), { recursive: true })
    }
  })

  test('all users can read everything that was built, including what an earlier set-up left unreadable', async () => {
    await chmod(join(folder, 'packages/console/dist'), 0o700)
    await chmod(join(folder, 'packages/server/dist/main.js'), 0o600)
    setUp()
    for (const built of ['packages/server/dist', 'packages/client/dist', 'packages/console/dist']) {
      const entries = await readdir(join(folder, built), { recursive: true })
      assert.ok(entries.length > 2, built)
      for (const entry of ['', ...entries]) {
        const { mode } = await stat(join(folder, built, entry))
        assert.equal(mode & 0o444, 0o444, join(built, entry))
      }
    }
  })

  test('where the user of the service cannot read the console, /readyz, the log and the doctor say so', async () => {
    const dist = join(folder, 'packages/console/dist')
    await chmod(dist, 0o700)
    await whileServing(async ({ issuer, output }) => {
      const ready = await fetch(`${issuer}/readyz`)
      assert.equal(ready.status, 503)
      const { checks } = (await ready.json()) as { checks: Record<string, string> }
      assert.match(checks.installation ?? '', /console/)
      assert.match(output().stdout, /"level":"error".*console\/dist.*npm run setup/)
      assert.deepEqual(await doctorFaults(), ['installation.unreadable'])
      await chmod(dist, 0o755)
      assert.equal((await fetch(`${issuer}/readyz`)).status, 200)
      assert.equal((await fetch(`${issuer}/console`)).status, 200)
    })
    await chown(join(folder, 'docs', 'README.md'), 0, 0)
    await chmod(join(folder, 'docs', 'README.md'), 0o600)
    assert.deepEqual(await doctorFaults(), ['installation.unreadable'])
    await chmod(join(folder, 'docs', 'README.md'), 0o644)
    await rm(dist, { recursive: true })
    assert.deepEqual(await doctorFaults(), ['installation.incomplete'])
    assert.deepEqual(await doctorFaults('--console=false'), [])
  })
})
