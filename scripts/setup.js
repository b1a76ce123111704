// Installs the packages of the lock file if node_modules is out of date, and builds the client, the console and the server. Runs on Node ≥ 20.
// `--production` omits the development dependencies.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const production = process.argv.includes('--production')
/** What the steps below write. */
const BUILT = ['packages/client/dist', 'packages/console/dist', 'packages/server/dist']

// The server may run as another user than the one that sets it up, who may have a stricter umask.
process.umask(0o022)
if (!isCurrent()) install()
const { buildClient } = await import('../packages/client/build.js')
await buildClient(announce('the client library'))
const { buildConsole } = await import('../packages/console/build.js')
await buildConsole(announce('the console'))
const { buildServer } = await import('../packages/server/build.js')
await buildServer(announce('the server'))
for (const path of BUILT) makeReadable(join(root, path))
warnIfClosed()

/** On a slow machine a build takes minutes. */
function announce(what) {
  return () => console.error(`gatehouse: building ${what} …`)
}

function isCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  if (statSync(installed).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs) return false
  return neededPackages().every((name) => existsSync(join(root, 'node_modules', name, 'package.json')))
}

function neededPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const places = ['', 'packages/client', 'packages/console', 'packages/csv', 'packages/iql', 'packages/server']
  return places.flatMap((place) => {
    const { dependencies, devDependencies } = packages[place]
    return Object.keys(production ? { ...dependencies } : { ...dependencies, ...devDependencies })
  })
}

function install() {
  console.error('gatehouse: installing packages (only once) …')
  const command = ['ci', '--loglevel=error', ...(production ? ['--omit=dev'] : [])]
  const windows = process.platform === 'win32'
  const { status, error } = spawnSync(windows ? 'npm.cmd' : 'npm', command, {
    cwd: root,
    stdio: 'inherit',
    shell: windows,
  })
  if (status === 0) return
  console.error(`gatehouse: npm ci failed${error ? ` (${error.message})` : ''}; check the network and try again.`)
  process.exit(1)
}

/** Also what an earlier set-up has written. */
function makeReadable(path) {
  const found = statSync(path)
  const wanted = found.isDirectory() ? 0o555 : 0o444
  if ((found.mode & wanted) !== wanted) chmodSync(path, (found.mode & 0o777) | wanted)
  if (found.isDirectory()) for (const name of readdirSync(path)) makeReadable(join(path, name))
}

/** Packages and sources keep their modes: the user who cloned them decides who may read them. */
function warnIfClosed() {
  if (process.getuid?.() !== 0) return
  const closed = ['.', 'packages', 'node_modules'].filter(
    (name) => (lstatSync(join(root, name)).mode & 0o005) !== 0o005,
  )
  if (closed.length > 0)
    console.error(
      `gatehouse: only root can read ${closed.map((name) => join(root, name)).join(', ')}; for a server that runs as another user: chmod -R go+rX ${root}`,
    )
}
