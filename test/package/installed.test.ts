/** The packages as users get them: packed by npm, installed with the machine's Node in an empty prefix and in an empty project. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, glob, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from 'gatehouse-protocol'
import { root } from '../support/clone.ts'
import { signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS, IS_LONG_RUN } from '../support/engines.ts'
import { environment, installGlobally, npm, packWorkingTree, whileNothingIsPacked } from '../support/npm.ts'
import { serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

let folder: string
/** An empty project with both packages. */
let project: string
/** What `npm install -g` installs into. */
let prefix: string
let gatehouse: string

before(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-package-'))
    const tarballs = await packWorkingTree(join(folder, 'packages'))
    prefix = join(folder, 'prefix')
    project = join(folder, 'project')
    await mkdir(project)
    await writeFile(
      join(project, 'package.json'),
      '{ "name": "own", "version": "1.0.0", "type": "module", "private": true }',
    )
    // Scripts are allowed, as they are by default in older versions of npm: there must be none.
    const server = tarballs.filter((file) => file.includes('gatehouse-server'))
    await installGlobally(server, prefix)
    gatehouse = join(prefix, 'bin', 'gatehouse')
    if (IS_LONG_RUN) await npm(['install', '--prefer-offline', '--no-audit', '--omit=optional', ...tarballs], project)
    else await copyInstallation(tarballs)
  },
  // On a busy machine.
  { timeout: 300_000 },
)
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))

/** What npm would install in the project: the server that is installed already, without its Node, and the client. */
async function copyInstallation(tarballs: readonly string[]): Promise<void> {
  const modules = join(project, 'node_modules')
  await mkdir(join(modules, '.bin'), { recursive: true })
  await mkdir(join(modules, 'gatehouse-client'))
  const client = tarballs.find((file) => file.includes('gatehouse-client')) ?? ''
  await run('tar', ['-xzf', client, '--strip-components=1', '-C', join(modules, 'gatehouse-client')])
  const server = join(modules, 'gatehouse-server')
  await cp(join(prefix, 'lib', 'node_modules', 'gatehouse-server'), server, {
    recursive: true,
    filter: (source) => !/node_modules\/node-[\w-]+$/.test(source),
  })
  await symlink('../gatehouse-server/bin/gatehouse.js', join(modules, '.bin', 'gatehouse'))
}

/** With a home of its own, in an empty folder. */
function options() {
  return { cwd: folder, env: { ...environment, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config') } }
}

test('packing leaves nothing behind in the clone', async () => {
  const words = ['status', '--short', '--ignored', 'packages']
  const { stdout } = await whileNothingIsPacked(() => run('git', words, { cwd: root }))
  const left = stdout.split('\n').filter((line) => line !== '' && !/\/(?:dist|node_modules)\/$/.test(line))
  assert.deepEqual(
    left.filter((line) => line.startsWith('!!')),
    [],
  )
})

test('an installation has no sources, runs no script and compiles nothing', async () => {
  const installed = join(prefix, 'lib', 'node_modules', 'gatehouse-server')
  for await (const file of glob('src/**/*.ts', { cwd: installed })) assert.fail(`${file} is in the package`)
  for await (const file of glob('node_modules/{*,@*/*}/package.json', { cwd: installed })) {
    const { name, scripts = {}, gypfile } = JSON.parse(await readFile(join(installed, file), 'utf8'))
    for (const script of ['preinstall', 'install', 'postinstall'])
      assert.equal(scripts[script], undefined, `${name} runs ${script}`)
    const isCompiled = gypfile !== false && (await readdir(join(installed, file, '..'))).includes('binding.gyp')
    assert.ok(!isCompiled, `${name} is compiled`)
  }
})

test('the installed versions are those of the lock file', async () => {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const { dependencies } = JSON.parse(await readFile(join(root, 'packages/server/package.json'), 'utf8'))
  for (const [name, version] of Object.entries(dependencies)) {
    assert.equal(packages[`node_modules/${name}`].version, version, name)
    const file = join(prefix, 'lib', 'node_modules', 'gatehouse-server', 'node_modules', name, 'package.json')
    assert.equal(JSON.parse(await readFile(file, 'utf8')).version, version, name)
  }
})

test('the bill of materials names what is installed and what is part of the files, with its licence', async () => {
  const installed = join(prefix, 'lib', 'node_modules', 'gatehouse-server')
  const { bomFormat, specVersion, components } = JSON.parse(await readFile(join(installed, 'sbom.cdx.json'), 'utf8'))
  assert.deepEqual([bomFormat, specVersion], ['CycloneDX', '1.6'])
  const names = components.map(({ name }: { name: string }) => name)
  for await (const file of glob('node_modules/{*,@*/*}/package.json', { cwd: installed }))
    assert.ok(names.includes(JSON.parse(await readFile(join(installed, file), 'utf8')).name), file)
  for (const name of ['preact', '@codemirror/view', 'kysely']) assert.ok(names.includes(name), name)
  for (const { name, scope, licenses } of components) assert.ok(scope === 'optional' || licenses.length > 0, name)
  const notices = await readFile(join(installed, 'third-party-licences.txt'), 'utf8')
  assert.match(notices, /^preact [\d.]+\n=+\n\n.*MIT/ms)
  const { stdout } = await run(gatehouse, ['--version'], options())
  assert.match(stdout, /^materials .*sbom\.cdx\.json/m)
})

describe('a server of the package', () => {
  for (const workers of [1, 2])
    test(
      `serves the demonstration, console, documentation and library with ${workers} ${workers === 1 ? 'process' : 'workers'}`,
      workers === 1 ? {} : IN_LONG_RUNS,
      async () => {
        const data = join(folder, `data-${workers}`)
        const server = spawn(
          gatehouse,
          ['serve', '--demo', '--port', '0', '--data', data, '--workers', `${workers}`],
          options(),
        )
        let output = ''
        for (const stream of [server.stdout, server.stderr])
          stream.setEncoding('utf8').on('data', (text) => (output += text))
        const ended = once(server, 'exit')
        try {
          await until('the banner', 30_000, () => output.includes('All data is in'))
          const issuer = /Identity +(\S+)/.exec(output)?.[1] ?? ''
          assert.match(output, /^ {2}gatehouse query --server /m)
          const readStatus = async (path: string) => (await fetch(`${issuer}${path}`)).status
          for (const path of [
            '/console',
            '/docs',
            '/docs/iql',
            '/docs/changelog',
            '/.well-known/openid-configuration',
            '/readyz',
          ])
            assert.equal(await readStatus(path), 200, path)
          assert.ok((await signIn({ port: Number(new URL(issuer).port) })).access_token)
          const guide = await (await fetch(`${issuer}/docs/guides/first-application`)).text()
          assert.ok(guide.includes('gatehouse client add') && !guide.includes('./gatehouse'))
          const library = await fetch(`${issuer}/client/gatehouse-${VERSION}.js`)
          assert.match(library.headers.get('cache-control') ?? '', /immutable/)
          await assertInstallable(`${issuer}/client/gatehouse-client.tgz`)
          await writeFile(join(folder, 'password'), 'wonderland-1\n')
          const words = [
            'query',
            '--server',
            issuer,
            '--username',
            'alice',
            '--password-file',
            join(folder, 'password'),
            '--json',
          ]
          const { stdout } = await run(
            gatehouse,
            [...words, 'select count(*) as instruments from instruments'],
            options(),
          )
          assert.match(stdout, /"instruments":"?[1-9]/)
          const doctor = await run(gatehouse, ['doctor', '--data', data], options()).catch((error) => error)
          assert.match(doctor.stdout, /ok +The files of the program are complete/)
        } finally {
          server.kill('SIGTERM')
          assert.deepEqual(await ended, [0, null], output)
        }
      },
    )
})

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534

test('docs/install.md: what root has installed is served by another user, and the unit of systemd is in the package', {
  skip: !isRoot && 'only root can run the server as another user',
}, async () => {
  const data = await mkdtemp(join(tmpdir(), 'gatehouse-nobody-'))
  try {
    await chmod(folder, 0o755)
    await chown(data, NOBODY, NOBODY)
    const program = join(prefix, 'lib', 'node_modules', 'gatehouse-server', 'bin', 'gatehouse.js')
    const server = await serveProcess(['--data', data], { program, uid: NOBODY, cwd: '/' })
    try {
      const ready = await fetch(`${server.issuer}/readyz`)
      assert.partialDeepStrictEqual(await ready.json(), { status: 'ok', checks: { installation: 'ok' } })
      assert.equal((await fetch(`${server.issuer}/console`)).status, 200)
    } finally {
      await server.stop()
    }
  } finally {
    await rm(data, { recursive: true })
  }
  const unit = await readFile(join(prefix, 'lib/node_modules/gatehouse-server/systemd/gatehouse.service'), 'utf8')
  assert.equal(unit, await readFile(join(root, 'examples/systemd/gatehouse.service'), 'utf8'))
  // The guides use them.
  for (const file of ['examples/spa/server.js', 'examples/api/server.js', 'examples/react/hooks.js'])
    assert.equal(
      await readFile(join(prefix, 'lib/node_modules/gatehouse-server', file), 'utf8'),
      await readFile(join(root, file), 'utf8'),
    )
})

/** In an empty project of its own. */
async function assertInstallable(address: string): Promise<void> {
  const own = await mkdtemp(join(folder, 'project-'))
  await writeFile(join(own, 'package.json'), '{ "name": "own", "type": "module", "private": true }')
  await npm(['install', '--no-audit', address], own)
  const code = "import { Gatehouse } from 'gatehouse-client'; console.log(typeof Gatehouse)"
  const { stdout } = await run('node', ['--input-type=module', '-e', code], { cwd: own, env: environment })
  assert.equal(stdout, 'function\n')
}

test('every command of an installation prints its help', async () => {
  const { stdout } = await run(gatehouse, ['help'], options())
  const commands = [...stdout.matchAll(/^ {2}([a-z]+(?: [a-z-]+)?) {2,}/gm)].map(([, name = '']) => name)
  assert.ok(commands.length > 20, stdout)
  // In one process: starting one takes longer than the command.
  const program = join(prefix, 'lib', 'node_modules', 'gatehouse-server', 'dist', 'main.js')
  const code = `import { main } from ${JSON.stringify(program)}
    for (const command of ${JSON.stringify(commands)}) {
      console.log('# ' + command)
      await main([...command.split(' '), '--help'])
    }`
  const printed = await run(process.execPath, ['--input-type=module', '-e', code], options())
  const helps = printed.stdout.split(/^# /m).slice(1)
  assert.equal(helps.length, commands.length)
  for (const [index, help] of helps.entries()) assert.match(help, /gatehouse \S/, commands[index])
})

test('a project imports the client library, and type-checks a controller', async () => {
  await writeFile(
    join(project, 'app.ts'),
    `import { Gatehouse, password } from 'gatehouse-client'
import { type Controller, refuse } from 'gatehouse-server/controller'
export const gate = new Gatehouse('https://gate.example.com', { auth: password({ clientId: 'x', username: 'a', password: 'b' }) })
const controller: Controller = {
  name: 'Own',
  summary: 'Refuses.',
  topics: { No: { summary: 'No.', needs: 'identity', publish: () => { throw refuse('Authority') } } },
}
export default controller
// @ts-expect-error a controller has topics
export const wrong: Controller = { name: 'Own', summary: '' }
`,
  )
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const words = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,dom',
    '--types',
    '',
    'app.ts',
  ]
  await run(process.execPath, [tsc, ...words], { cwd: project }).catch(({ stdout }) => assert.fail(stdout))
  const code =
    "import { sql } from 'gatehouse-client'; import { refuse } from 'gatehouse-server/controller'; console.log(typeof sql, refuse('Authority').code)"
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: project })
  assert.equal(stdout, 'function Authority\n')
})

test('without the Node that the package brings along, an older Node says what to do', async () => {
  const program = join(project, 'node_modules', '.bin', 'gatehouse')
  const { stdout: version } = await run('node', ['--version'], options())
  const result = await run(program, ['--version'], options()).catch((error) => error)
  if (Number.parseInt(version.slice(1), 10) >= 24) assert.match(result.stdout, /^gatehouse \d/)
  else assert.match(result.stderr, /Node 24 is required\. .*without --omit=optional/)
})
