// Installs the packages of the lock file if node_modules is out of date, and builds the client, the console, one file of Kysely and the bundle of the server. Runs on Node ≥ 20.
// `--production` omits the development dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const production = process.argv.includes('--production')

if (!isCurrent()) install()
const { buildClient } = await import('../client/build.js')
await buildClient()
const { buildConsole } = await import('../console/build.js')
await buildConsole()
const { bundleKysely } = await import('./bundle-kysely.js')
await bundleKysely()
const { bundleServer } = await import('./bundle-server.js')
await bundleServer()

function isCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  if (statSync(installed).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs) return false
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const needed = Object.keys(production ? dependencies : { ...dependencies, ...devDependencies })
  return needed.every((name) => existsSync(join(root, 'node_modules', name, 'package.json')))
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
