/** `npm test`: type check, lint, then the tests on SQLite and on a real PostgreSQL. `--all` includes the long ones.
 *  Files can be named; `--retry` runs those that fail again one at a time, and `--grouped` lets them share processes, as a whole run does.
 *  `--durations` shows the time and the processor time of every process. */
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { glob, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import {
  createPostgresDatabase,
  type PostgresDatabase,
  SHARED_SERVER,
  startPostgres,
  TEMPLATE,
} from '../test/support/postgres.ts'
import { type ProcessorTime, type ProcessTimes, readTimes, TIMES_FOLDER } from '../test/support/processor-time.ts'
import { createTemplateFolder, removeTemplates, SQLITE_TEMPLATES } from '../test/support/sqlite-template.ts'
import { TEST_TOGETHER } from '../test/support/test-file.ts'
import { makeWrittenFolder, searchWritten, WRITTEN_FOLDER } from '../test/support/written.ts'
import { endLateFiles } from './test-deadlines.ts'
import { useFolderInMemory } from './test-folder.ts'
import { groupFiles } from './test-groups.ts'

const root = new URL('..', import.meta.url).pathname
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isLongRun = process.argv.includes('--all')
const isMeasuring = process.argv.includes('--durations')
// In a long run each file has a process of its own: that shows which of them depend on their group.
const isGrouped = !isLongRun && (wanted.length === 0 || process.argv.includes('--grouped'))

/** Keeps two processors busy, because most tests wait for a timeout, a browser or another process much of the time. */
const FILES_AT_A_TIME = 5
/** Of a file. */
const TIMEOUT_MS = isLongRun ? 900_000 : 90_000
/** Of a file where files share processes, since other processes take their time too. */
const SHARING_TIMEOUT_MS = 240_000
/** Of a group of files. */
const GROUP_TIMEOUT_MS = 900_000
/** Of a process, whatever its tests do. */
const PROCESS_TIMEOUT_MS = isLongRun ? 1_800_000 : 900_000
/** More failures than this have another reason than a busy machine. */
const MOST_RETRIED = 15
const MOST_SHOWN = 40

/** Needs Python and PyPI, which `npm test` must not. */
const PYTHON = [process.execPath, 'scripts/python.ts', '--if-possible']

/** These take longest, so they start first: none of them is left to run alone at the end. */
const LONGEST = [
  'feeds/loss',
  'console/on-postgres',
  'replication/kill',
  'package/installed',
  'conformance/checklist',
  'store/backup',
  'query/live/core',
  'query/corpus',
  'operate/stopping',
  'examples/javascript',
  'replication/kill-s3',
  'query/columns/killed',
  'replication/pgbackrest',
  'licences/faults',
  'licences/simulation',
]

/** Load, memory and repetition, which others cover in part: they run in `npm run test:all`, or by name. */
const LONG = [
  'alerts/crash',
  'alerts/foreign',
  'alerts/nodes',
  'alerts/pairs',
  'alerts/receivers',
  'browser/controls',
  'cli/existing-database',
  'cli/killed-start',
  'cli/stream-reconnect',
  'client/reconnects',
  'clients/authlib',
  'clients/express-openid-connect',
  'clients/nimbus',
  'clients/oauth4webapi',
  'clients/oauth4webapi-apis',
  'clients/passport-openidconnect',
  'conformance/calibration',
  'conformance/fapi2/calibration',
  'conformance/throttle',
  'console/replication',
  'console/snippets',
  'console/tools',
  'docs/guides/assistant',
  'examples/javascript',
  'examples/samples',
  'feeds/loss',
  'feeds/nats-latency',
  'feeds/postgres-restarts',
  'identity/hash-queue',
  'identity/timing',
  'licences/cut-off',
  'licences/demo',
  'licences/faults',
  'licences/foreign',
  'licences/partition',
  'licences/simulation',
  'mail/links',
  'mail/nodes',
  'mail/other-servers',
  'mcp/chat',
  'mcp/clients',
  'mcp/conformance',
  'mcp/delayed',
  'mcp/hostile',
  'move/interrupted',
  'operate/failover',
  'operate/faults',
  'operate/installation',
  'operate/open-files',
  'operate/reloadable',
  'operate/rolling-restart',
  'operate/rolling-update',
  'operate/rolling-upgrade',
  'operate/start-together',
  'operate/steady-memory',
  'operate/workers-tls',
  'operate/written',
  'query/aggregate-memory',
  'query/bulk-disk',
  'query/columns/agree',
  'query/columns/compaction',
  'query/columns/killed',
  'query/columns/pairs',
  'query/created-texts',
  'query/delayed/copies',
  'query/duckdb-windows',
  'query/fairness',
  'query/hostile-parameters',
  'query/kept/copies',
  'query/kept/faults',
  'query/kept/kill',
  'query/live/bounds',
  'query/live/crowd',
  'query/live/heavy',
  'query/live/load',
  'query/live/memory',
  'query/long-rows',
  'query/memory',
  'query/orphaned-transactions',
  'query/overload',
  'query/parquet/programs',
  'query/postgres-batching',
  'query/readers',
  'query/retention/hostile',
  'query/split-groups',
  'replication/derived',
  'replication/disk-full',
  'replication/erasure',
  'replication/instants',
  'replication/kill-s3',
  'replication/moments',
  'replication/pairs',
  'replication/pgbackrest',
  'replication/s3-servers',
  'scim/many-users',
  'scim/scim2-tester',
  'store/database-clock',
  'store/kill',
  'store/user-search',
  'streaming/frame-rate',
  'streaming/memory',
  'streaming/send-queues',
  'wire/catalogue-many',
  'wire/corpus',
  'wire/corpus-statements',
  'wire/half-open',
  'wire/object-ids',
  'wire/workers',
]

/** These measure how long something takes, here or in processes that they start: in a long run they come last, one at a time. */
const ALONE = [
  'feeds/nats-latency',
  'operate/patroni',
  'operate/steady-memory',
  'query/aggregate-memory',
  'query/asof',
  'query/bombs/bombs',
  'query/fairness',
  'query/live/large',
  'query/long-rows',
  'query/readers',
  'wire/slow-readers',
]

const stopTests = new AbortController()

process.exitCode = await runAll()

async function runAll(): Promise<number> {
  const isChecked = wanted.length === 0
  const types = isChecked ? checkTypes() : Promise.resolve(true)
  // Takes a processor for a quarter of a minute, in which the first tests run.
  const lint = isChecked ? runLint() : undefined
  const files = await findFiles()
  // In a long run files are on a disk.
  if (!isLongRun) await useFolderInMemory()
  let template: PostgresDatabase | undefined
  // In a long run every server starts in an empty folder.
  const templates = isLongRun ? undefined : await createTemplateFolder()
  const postgres = process.env[SHARED_SERVER] === undefined ? await startPostgres() : undefined
  const written = await makeWrittenFolder()
  try {
    // The processes of the tests inherit them.
    if (postgres !== undefined) process.env[SHARED_SERVER] = postgres.url
    // Each process of tests loads most of the server: compiled once, it loads in half the time.
    process.env.NODE_COMPILE_CACHE = join(root, 'node_modules', '.cache', 'compiled')
    template = await createPostgresDatabase()
    await makeTemplates(template.url, templates)
    Object.assign(process.env, {
      [TEMPLATE]: new URL(template.url).pathname.slice(1),
      ...(templates === undefined ? {} : { [SQLITE_TEMPLATES]: templates }),
      [WRITTEN_FOLDER]: written,
      ...(isLongRun ? { TEST_LONG: 'true' } : {}),
    })
    if (!(await types)) return 1
    const [alone, together] = isLongRun ? split(files) : [[], files]
    // It mostly waits for packages and for its own tests' servers.
    const python = isLongRun && wanted.length === 0 ? checkLater('the client for Python', PYTHON) : undefined
    let failed = await (isGrouped ? runGrouped(together) : runFiles('tests', ordered(together), FILES_AT_A_TIME))
    if ((await lint) === false) return 1
    const isPythonRight = (await python?.()) ?? true
    if (alone.length > 0) failed.push(...(await runFiles('tests that run alone', ordered(alone), 1)))
    const isRetrying = wanted.length === 0 || process.argv.includes('--retry')
    if (isRetrying && failed.length > 0 && failed.length <= MOST_RETRIED) {
      const unsteady = failed
      failed = await runFiles('tests of the files that failed, again and one at a time', failed, 1)
      for (const file of unsteady.filter((name) => !failed.includes(name)))
        process.stdout.write(`# UNSTEADY: ${relative(root, file)} failed among others and passed alone; fix it\n`)
    }
    const status = failed.length > 0 || !isPythonRight ? 1 : 0
    return (await holdsNoSecret(written)) ? status : 1
  } finally {
    await template?.drop()
    await postgres?.stop()
    if (templates !== undefined) await removeTemplates(templates)
  }
}

async function checkTypes(): Promise<boolean> {
  const statuses = await Promise.all([
    check('types', ['node_modules/.bin/tsc']),
    check('types of the console', ['node_modules/.bin/tsc', '-p', 'packages/console']),
  ])
  return statuses.every((status) => status === 0)
}

/** Ends the tests if it fails. */
async function runLint(): Promise<boolean> {
  const words = ['check', '--error-on-warnings', `--colors=${process.stdout.isTTY ? 'force' : 'off'}`, '.']
  const { status, output } = await runQuietly(['node_modules/.bin/biome', ...words])
  if (status === 0) process.stdout.write(`# lint\n${output}`)
  else {
    stopTests.abort()
    // Below what the tests that ended have written.
    process.once('exit', () => process.stdout.write(`# lint\n${output}`))
  }
  return status === 0
}

/** Runs beside the tests. The function waits for its end, shows what it has written, and says whether it succeeded. */
function checkLater(name: string, command: readonly string[]): () => Promise<boolean> {
  const ended = runQuietly(command)
  return async () => {
    const { status, output } = await ended
    process.stdout.write(`# ${name}\n${output}`)
    return status === 0
  }
}

function runQuietly([command = '', ...args]: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })
}

/** Our tables in the database, without rows, and data folders in the folder: the databases and folders of the tests are copied from them. */
async function makeTemplates(url: string, folder: string | undefined): Promise<void> {
  const words = ['scripts/test-templates.ts', url, ...(folder === undefined ? [] : [folder])]
  const { status, output } = await runQuietly([process.execPath, ...words])
  if (status !== 0) throw new Error(`The templates could not be made: ${output}`)
}

async function findFiles(): Promise<string[]> {
  const found = await Array.fromAsync(glob(wanted.length > 0 ? wanted : 'test/**/*.test.ts', { cwd: root }))
  if (found.length === 0) throw new Error('There are no test files')
  if (wanted.length > 0 || isLongRun) return found
  process.stdout.write(`# ${LONG.length} files run in npm run test:all only\n`)
  return found.filter((file) => !LONG.some((name) => file === `test/${name}.test.ts`))
}

/** Those that run alone, and the others. */
function split(files: readonly string[]): [alone: string[], together: string[]] {
  const isAlone = (file: string): boolean => ALONE.some((name) => file === `test/${name}.test.ts`)
  return [files.filter(isAlone), files.filter((file) => !isAlone(file))]
}

/** The longest first, the others in an arbitrary order that is always the same: neighbours need the same, such as a browser. */
function ordered(files: readonly string[]): string[] {
  const place = (file: string) => {
    const index = LONGEST.findIndex((name) => file === `test/${name}.test.ts`)
    return index < 0 ? hash('md5', file) : String.fromCharCode(index)
  }
  return files.toSorted((one, other) => (place(one) < place(other) ? -1 : 1)).map((file) => resolve(root, file))
}

/** The groups come after the longest files: each takes longer than a file. */
async function runGrouped(names: readonly string[]): Promise<string[]> {
  const isLong = (name: string): boolean => LONGEST.some((each) => name === `test/${each}.test.ts`)
  const groups = await groupFiles(root, names, { isLong, timeoutMs: SHARING_TIMEOUT_MS })
  const [longest, others] = [groups.separate.filter(isLong), groups.separate.filter((name) => !isLong(name))]
  const processes = [...ordered(longest), ...groups.files, ...ordered(others)]
  try {
    return await runFiles('tests', processes, FILES_AT_A_TIME, groups.listMembers)
  } finally {
    await groups.remove()
  }
}

interface FileResult {
  readonly file: string
  readonly passed: boolean
  readonly milliseconds: number
}

/** Resolves with the files that failed, or ended without a summary. A file that `listMembers` knows stands for a group of files. */
async function runFiles(
  name: string,
  files: readonly string[],
  concurrency: number,
  listMembers: (file: string) => readonly string[] | undefined = () => undefined,
): Promise<string[]> {
  if (files.length === 0) return []
  process.stdout.write(`# ${name}\n`)
  const results: FileResult[] = []
  const times = isMeasuring ? await mkdtemp(join(tmpdir(), 'gatehouse-times-')) : undefined
  if (times !== undefined) process.env[TIMES_FOLDER] = times
  const preloaded = ['test-contexts', 'test-file', ...(times === undefined ? [] : ['processor-time'])]
  const execArgv = [
    ...preloaded.flatMap((name) => ['--import', join(root, 'test', 'support', `${name}.ts`)]),
    // A test that fails can leave a server behind, for which its process would wait. In a short run this shows what does not close.
    ...(isLongRun ? ['--test-force-exit'] : []),
  ]
  process.env[TEST_TOGETHER] = String(concurrency > 1)
  const timeout = files.some((file) => listMembers(file) !== undefined) ? GROUP_TIMEOUT_MS : TIMEOUT_MS
  const events = run({ files, concurrency, timeout, cwd: root, execArgv, signal: stopTests.signal })
  endLateFiles(events, PROCESS_TIMEOUT_MS)
  events.on('test:summary', ({ file, success, duration_ms }) => {
    // The last summary is that of the whole run.
    if (file !== undefined) results.push({ file, passed: success, milliseconds: duration_ms })
  })
  // The suites of a group have the names of its files.
  const passedSuites = new Set<string>()
  events.on('test:pass', (suite) => suite.nesting === 0 && passedSuites.add(suite.name))
  await pipeline(events, new spec(), process.stdout, { end: false })
  if (times !== undefined) {
    showDurations(results, readTimes(times))
    await rm(times, { recursive: true })
  } else if (files.length > MOST_SHOWN) showSlowest(results)
  const passed = new Set(results.filter((result) => result.passed).map(({ file }) => file))
  return files
    .filter((file) => !passed.has(file))
    .flatMap((file) => failedMembers(listMembers(file) ?? [], passedSuites) ?? [file])
}

/** All of a group that failed as a whole; undefined for a file that is no group. */
function failedMembers(members: readonly string[], passedSuites: ReadonlySet<string>): string[] | undefined {
  if (members.length === 0) return undefined
  const failed = members.filter((name) => !passedSuites.has(name))
  return (failed.length > 0 ? failed : members).map((name) => resolve(root, name))
}

function showSlowest(results: readonly FileResult[]): void {
  const slowest = results.toSorted((one, other) => other.milliseconds - one.milliseconds).slice(0, MOST_SHOWN)
  process.stdout.write('# the slowest files\n')
  for (const { file, milliseconds } of slowest)
    process.stdout.write(`${(milliseconds / 1000).toFixed(1).padStart(6)} s  ${readName(file)}\n`)
}

function showDurations(results: readonly FileResult[], times: ReadonlyMap<string, ProcessTimes>): void {
  const seconds = (count: number) => `${count.toFixed(1).padStart(6)} s`
  const longestFirst = <Row extends ProcessorTime>(rows: readonly Row[]) =>
    rows.toSorted((one, other) => other.own + other.started - one.own - one.started)
  const processes = results.map(({ file, milliseconds }) => {
    const { own, started, files } = times.get(file) ?? { own: 0, started: 0, files: [] }
    return { name: readName(file), own, started, files, took: milliseconds / 1000 }
  })
  process.stdout.write('# processor time, that of the processes which it started, and time, of each process\n')
  for (const { name, own, started, took } of longestFirst(processes))
    process.stdout.write(`${seconds(own + started)} ${seconds(started)} ${seconds(took)}  ${name}\n`)
  const files = longestFirst(processes.flatMap((one) => one.files))
  if (files.length > 0) process.stdout.write('# processor time of the files of groups, once they are loaded\n')
  for (const { name, own, started } of files)
    process.stdout.write(`${seconds(own + started)} ${seconds(started)}  ${name}\n`)
  const sum = processes.reduce((total, { own, started }) => total + own + started, 0)
  process.stdout.write(`${seconds(sum)} of processor time, without PostgreSQL\n`)
}

/** Groups are outside the project. */
function readName(file: string): string {
  return file.startsWith(root) ? relative(root, file) : `the group ${basename(file, '.test.mjs')}`
}

/** No server may have logged a secret, whatever the test was about. */
async function holdsNoSecret(folder: string): Promise<boolean> {
  const { files, found } = await searchWritten(folder)
  process.stdout.write(`# secrets in the server logs of ${files} test files: ${found.length}\n`)
  for (const line of found) process.stdout.write(`${line}\n`)
  return found.length === 0
}

function check(name: string, [command = '', ...args]: string[]): Promise<number> {
  process.stdout.write(`# ${name}\n`)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
