/** Authlib for Python as a client of `profile: fapi2`. Needs Python with the module venv, and PyPI. */
import { join } from 'node:path'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { root } from '../support/clone.ts'
import { startProgram, testProgram } from './program.ts'

const FOLDER = join(root, 'test/clients/authlib')
const ENVIRONMENT = join(root, 'node_modules', '.cache', 'authlib')
const PYTHON = join(ENVIRONMENT, 'bin/python')

testProgram('Authlib', await prepare(), async () => startProgram(PYTHON, ['fapi2.py'], FOLDER))

/** Installs Authlib into an environment of its own. Resolves with why that is impossible here, or false. */
async function prepare(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const run = (command: readonly string[]) => runCommand(command, { cwd: FOLDER, seconds: 300 })
  const made = await run(['python3', '-m', 'venv', ENVIRONMENT])
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const pip = [PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet']
  const installed = await run([...pip, '-r', 'requirements.txt'])
  if (installed.status !== 0) throw new Error(`Authlib was not installed: ${installed.output}`)
  return false
}
