/** `npm run python`: builds the wheel of the client for Python, installs it into an empty environment, and runs its tests and the
 *  type checkers there. `--if-possible` (for `npm run test:all`) leaves it out where Python is missing, and says so. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findToolchain, runCommand } from './examples/samples.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const project = join(root, 'clients/python')
/** Fetching the packages, and each check. */
const STEP_SECONDS = 900

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-python-'))
try {
  process.exitCode = await runAll()
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function runAll(): Promise<number> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return leaveOut(`${python.reason}; it needs Python 3.10 or later`)
  const environment = join(folder, 'environment')
  if (!(await step('an empty environment', ['python3', '-m', 'venv', environment])))
    return leaveOut('python3 -m venv failed: install the module venv (on Debian the package python3-venv)')
  const program = (name: string): string => join(environment, 'bin', name)
  const pip = [program('python'), '-m', 'pip', '--disable-pip-version-check']
  const install = [...pip, 'install', '--quiet']
  const dist = join(folder, 'dist')
  if (!(await step('the wheel', [...pip, 'wheel', '--quiet', '--no-deps', '--wheel-dir', dist, project]))) return 1
  const [wheel = ''] = await readdir(dist)
  const without = 'import gatehouse_client as g; g.Gate("http://localhost:9").query("select 1").to_arrow()'
  const steps: readonly (readonly [name: string, command: readonly string[], expected?: string])[] = [
    [`${wheel} alone`, [...install, join(dist, wheel)]],
    ['without pyarrow it says what to install', [program('python'), '-c', without], 'install gatehouse-client[arrow]'],
    [
      'the extras',
      [...install, `${join(dist, wheel)}[arrow,pandas,polars]`, '-r', join(project, 'requirements-test.txt')],
    ],
    ['lint', [program('ruff'), 'check', '--no-cache', project]],
    ['format', [program('ruff'), 'format', '--no-cache', '--check', project]],
    ['mypy', [program('mypy'), '--cache-dir', join(folder, 'mypy')]],
    ['pyright', [program('pyright'), '--pythonpath', program('python'), join(project, 'src')]],
    ['tests', [program('pytest'), '-p', 'no:cacheprovider', '--durations', '5']],
  ]
  for (const [name, command, expected] of steps) if (!(await step(name, command, expected))) return 1
  process.stdout.write(`\npython: ok (${python.version}, ${wheel})\n`)
  return 0
}

/** Whether the command succeeded, or failed with the expected text. */
async function step(name: string, command: readonly string[], expected?: string): Promise<boolean> {
  process.stdout.write(`# python: ${name}\n`)
  const { status, output } = await runCommand(command, {
    cwd: project,
    environment: { PYTHONDONTWRITEBYTECODE: '1', NODE: process.execPath },
    seconds: STEP_SECONDS,
    onOutput: (text) => (expected === undefined ? process.stdout.write(text) : undefined),
  })
  const hasPassed = expected === undefined ? status === 0 : output.includes(expected)
  if (!hasPassed) process.stdout.write(`# python: FAILED: ${name}${expected === undefined ? '' : `\n${output}`}\n`)
  return hasPassed
}

function leaveOut(reason: string): number {
  process.stdout.write(`# LEFT OUT: the client for Python was not tested: ${reason}\n`)
  return process.argv.includes('--if-possible') ? 0 : 1
}
