/**
 * Assembles the root file system of the image in an empty folder, on Debian and with npm alone: `node scripts/image/root.ts FOLDER`.
 * FOLDER/root has the program, the only Node, and the libraries of Debian that Node needs; FOLDER/data has the empty data folder, which
 * belongs to another user. The Dockerfile and build.ts make the image from these.
 */
import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { appendFile, chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { neededBy, readLock } from '../pack/lock.js'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const SERVER = 'packages/server'
/** What Node is linked with, and the certificate authorities for programs that ask OpenSSL for them (`--use-system-ca`). */
const DEBIAN_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates']
/** Not needed in an image. Licences stay. */
const UNUSED = ['usr/share/man', 'usr/share/locale', 'usr/share/lintian', 'usr/sbin', 'usr/lib/*/gconv', 'lib/*/gconv']

const ACCOUNTS = {
  'etc/passwd': 'root:x:0:0:root:/:/usr/sbin/nologin\ngatehouse:x:1000:1000::/var/lib/gatehouse:/usr/sbin/nologin\n',
  'etc/group': 'root:x:0:\ngatehouse:x:1000:\n',
  // Without this file, /etc/hosts would be asked last.
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
}
/** The kernel starts it with Node: there is neither a shell nor `env`. */
const LAUNCHER = "#!/usr/local/bin/node\nimport '/app/node_modules/gatehouse-server/bin/gatehouse.js'\n"

export async function assembleRoot(folder: string): Promise<void> {
  process.umask(0o022)
  const [root, data] = [join(folder, 'root'), join(folder, 'data', 'gatehouse')]
  const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-image-'))
  try {
    await installDebian(root, scratch)
    await installProgram(root, scratch)
    for (const [path, text] of Object.entries(ACCOUNTS)) await write(join(root, path), text)
    await mkdir(join(root, 'tmp'))
    await chmod(join(root, 'tmp'), 0o1777)
    await mkdir(data, { recursive: true })
    await chmod(data, 0o700)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** Extracted, not installed: no package runs a script. Scanners find what is installed in status.d. */
async function installDebian(root: string, scratch: string): Promise<void> {
  const downloads = join(scratch, 'debian')
  await mkdir(downloads)
  await mkdir(root, { recursive: true })
  // The folder is closed to the user that apt would download as.
  run('apt-get', ['--option', 'APT::Sandbox::User=root', 'download', ...DEBIAN_PACKAGES], downloads)
  for (const file of await readdir(downloads)) {
    const archive = join(downloads, file)
    run('dpkg-deb', ['--extract', archive, root])
    const [name = ''] = file.split('_')
    await write(join(root, 'var/lib/dpkg/status.d', name), run('dpkg-deb', ['--field', archive]))
  }
  for (const path of UNUSED.flatMap((pattern) => globSync(pattern, { cwd: root })))
    await rm(join(root, path), { recursive: true, force: true })
  for (const path of globSync('usr/share/doc/*/*', { cwd: root }))
    if (basename(path) !== 'copyright') await rm(join(root, path), { recursive: true, force: true })
  await cp('/etc/os-release', join(root, 'etc/os-release'), { dereference: true })
  await bundleCertificates(root)
}

/** As the script of the package does after an installation. */
async function bundleCertificates(root: string): Promise<void> {
  const bundle = join(root, 'etc/ssl/certs/ca-certificates.crt')
  await write(bundle, '')
  for (const path of globSync('usr/share/ca-certificates/**/*.crt', { cwd: root }).sort())
    await appendFile(bundle, await readFile(join(root, path)))
  await rm(join(root, 'usr/share/ca-certificates'), { recursive: true })
}

/** The package as others install it, and what it needs in the versions of the lock file. Its Node becomes the only one. */
async function installProgram(root: string, scratch: string): Promise<void> {
  const app = join(root, 'app')
  const program = join(app, 'node_modules', 'gatehouse-server')
  run('npm', ['pack', '--loglevel=error', '--pack-destination', scratch], join(REPOSITORY, 'packages', 'server'))
  await writeLock(app)
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], app)
  for (const file of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json']) await rm(join(app, file))
  await mkdir(program)
  const [archive = ''] = globSync(join(scratch, 'gatehouse-server-*.tgz'))
  run('tar', [
    '--extract',
    '--gzip',
    '--no-same-owner',
    '--strip-components=1',
    '--directory',
    program,
    '--file',
    archive,
  ])
  await takeNode(app, join(root, 'usr/local/bin'))
  await removeSources(join(app, 'node_modules/better-sqlite3'))
}

/** The part of the repository's lock file that the server needs. */
async function writeLock(app: string): Promise<void> {
  const { lockfileVersion, packages } = readLock(REPOSITORY)
  const { dependencies, optionalDependencies } = packages[SERVER] ?? {}
  const manifest = { name: 'image', version: '0.0.0', dependencies, optionalDependencies }
  const needed = [...neededBy(SERVER, packages)].map(
    ([path, entry]) => [path.replace(`${SERVER}/`, ''), entry] as const,
  )
  if (new Set(needed.map(([path]) => path)).size < needed.length) throw new Error('Two versions want the same folder')
  await write(join(app, 'package.json'), JSON.stringify(manifest))
  const lock = {
    ...manifest,
    lockfileVersion,
    requires: true,
    packages: { '': manifest, ...Object.fromEntries(needed) },
  }
  await write(join(app, 'package-lock.json'), JSON.stringify(lock))
}

async function takeNode(app: string, programs: string): Promise<void> {
  const [node = '', ...others] = globSync('node_modules/node-linux-*', { cwd: app })
  if (node === '' || others.length > 0) throw new Error(`One Node was expected: ${[node, ...others].join(', ')}`)
  await mkdir(programs, { recursive: true })
  await rename(join(app, node, 'bin/node'), join(programs, 'node'))
  await write(join(programs, '../share/doc/node/LICENSE'), await readFile(join(app, node, 'LICENSE'), 'utf8'))
  await rm(join(app, node), { recursive: true })
  await rm(join(app, 'node_modules/.bin'), { recursive: true })
  await write(join(programs, 'gatehouse'), LAUNCHER)
  await chmod(join(programs, 'gatehouse'), 0o755)
}

/** What a compiler would need, and the builds for other platforms. */
async function removeSources(folder: string): Promise<void> {
  for (const name of ['deps', 'src', 'binding.gyp']) await rm(join(folder, name), { recursive: true })
  for (const file of await readdir(join(folder, 'prebuilds')))
    if (file !== `linux-${process.arch}.node`) await rm(join(folder, 'prebuilds', file))
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, text)
}

function run(command: string, args: readonly string[], cwd = REPOSITORY): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('Name the folder: node scripts/image/root.ts FOLDER')
  await assembleRoot(resolve(folder))
}
