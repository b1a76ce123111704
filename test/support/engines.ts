/** Runs the same tests on every database engine. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import type { Engine } from '../../packages/server/src/store/database/database.ts'
import { createPostgresDatabase, type PostgresDatabaseOptions, stopOwnPostgres } from './postgres.ts'

export interface TestPlace {
  readonly engine: Engine
  readonly dataFolder: string
  /** Empty for SQLite. */
  readonly databaseUrl: string
}

/** Set by `npm run test:all`, which takes too long for every change. */
export const IS_LONG_RUN = process.env.TEST_LONG === 'true'

/** Options of a test or suite that takes long, and that others cover in part. */
export const IN_LONG_RUNS = { skip: IS_LONG_RUN ? false : 'runs in npm run test:all' }

/** Options of a test whose subject is not the database, in a suite that runs on every engine. */
export function shortOnSqlite(engine: Engine): { skip?: string | boolean } {
  return engine === 'sqlite' ? {} : IN_LONG_RUNS
}

type Suite = (place: () => TestPlace, engine: Engine) => void
type SuiteArguments = [name: string, suite: Suite] | [name: string, options: PostgresDatabaseOptions, suite: Suite]

/** Options of a suite that needs a database on PostgreSQL without our tables. */
export const EMPTY: PostgresDatabaseOptions = { isMigrated: false }

/** For suites whose subject is not the database: on PostgreSQL they run in `npm run test:all` only. */
export function onEveryEngineInLongRuns(...suite: SuiteArguments): void {
  runOn(IS_LONG_RUN ? ENGINES : ['sqlite'], ...suite)
}

/** For suites that have nothing to do with the database. */
export function onSqlite(...suite: SuiteArguments): void {
  runOn(['sqlite'], ...suite)
}

/** For suites of minutes that other tests cover in part. */
export function inLongRuns(...suite: SuiteArguments): void {
  if (IS_LONG_RUN) runOn(ENGINES, ...suite)
  else describe(suite[0], { skip: 'runs in npm run test:all' })
}

const ENGINES = ['sqlite', 'postgres'] as const

/** Call `place()` only inside hooks and tests: the folder and the database exist from `before` to `after`. */
export function onEveryEngine(...suite: SuiteArguments): void {
  runOn(ENGINES, ...suite)
}

function runOn(engines: readonly Engine[], ...[name, ...rest]: SuiteArguments): void {
  const [options, suite] = rest.length === 1 ? [{ isMigrated: true }, rest[0]] : rest
  for (const engine of engines) {
    describe(`${name} on ${engine}`, () => {
      let place: TestPlace | undefined
      let leave: (() => Promise<void>) | undefined
      before(async () => {
        const opened = await openPlace(engine, options)
        place = opened.place
        leave = opened.leave
      })
      suite(() => {
        if (place === undefined) throw new Error('place() was called before the hooks ran')
        return place
      }, engine)
      // Registered last, so that the servers of the suite stop while their database still exists.
      after(async () => {
        await leave?.()
        if (engine === 'postgres') await stopOwnPostgres()
      })
    })
  }
}

export async function openPlace(
  engine: Engine,
  options: PostgresDatabaseOptions = {},
): Promise<{ place: TestPlace; leave(): Promise<void> }> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  const database = engine === 'postgres' ? await createPostgresDatabase(options) : undefined
  return {
    place: { engine, dataFolder, databaseUrl: database?.url ?? '' },
    async leave() {
      await database?.drop()
      // A reader process of a killed server may still be writing its compile cache.
      await rm(dataFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}
