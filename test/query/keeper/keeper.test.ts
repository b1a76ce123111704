/** The keeper: one node does the work for all, also after others were killed, and no node commits in a term that has ended. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { Refusal } from 'gatehouse-protocol'
import pg from 'pg'
import type { KeeperTerm } from '../../../packages/server/src/query/engines/keeper-lease.ts'
import * as postgres from '../../../packages/server/src/query/engines/postgres/keeper-term.ts'
import * as sqlite from '../../../packages/server/src/query/engines/sqlite/keeper-term.ts'
import { Keeper } from '../../../packages/server/src/query/keeper/keeper.ts'
import { onEveryEngine, type TestPlace } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const PROGRAM = fileURLToPath(new URL('./keeping-server.ts', import.meta.url))

onEveryEngine('the keeper', (place, engine) => {
  test('while nothing is kept there is no row', async () => {
    const server = await startQueryServer(place())
    assert.deepEqual(await rows(place()), [])
    assert.equal(server.service.keeper.isHolding, false)
    await server.stop()
  })

  test('one node is the keeper; the other at once when that one stops, and in a higher epoch', async () => {
    const [first, second] = [await startKeeping(place()), await startKeeping(place())]
    await until('a node is the keeper', 1000, () => first.terms.length + second.terms.length === 1)
    const [keeper, other] = first.terms.length === 1 ? [first, second] : [second, first]
    assert.deepEqual([keeper.server.service.keeper.isHolding, other.server.service.keeper.isHolding], [true, false])
    await keeper.server.stop()
    assert.deepEqual(keeper.ended, keeper.terms)
    await until('the other node is the keeper', 2000, () => other.terms.length === 1)
    assert.ok(Number(other.terms[0]?.epoch) > Number(keeper.terms[0]?.epoch))
    await other.server.stop()
    assert.deepEqual(await rows(place()), [])
  })

  test('a commit is refused in a term that has ended', async () => {
    const first = await startKeeping(place())
    await until('it is the keeper', 1000, () => first.terms.length === 1)
    const [term] = first.terms
    assert.ok(term)
    await commitIn(place(), term)
    await assert.rejects(commitIn(place(), { ...term, node: 'another' }), /Another node is the keeper/)
    await change(place(), "epoch = epoch + 1, node = 'another', name = 'another'")
    await assert.rejects(commitIn(place(), term), /Another node is the keeper/)
    await until('it knows', 2000, () => first.ended.length === 1)
    await change(place(), 'until = 1')
    await until('it is the keeper again', 2000, () => first.terms.length === 2)
    await first.server.stop()
  })

  test('a term that ends after the clock was set back does not last until then', async () => {
    const first = await startKeeping(place())
    await until('it is the keeper', 1000, () => first.terms.length === 1)
    await change(place(), "epoch = epoch + 1, node = 'another', name = 'another', until = until + 3600000")
    await until('it is the keeper again', 3000, () => first.terms.length === 2)
    await first.server.stop()
  })

  test('what is no longer kept is stopped, and the last takes the row with it', async () => {
    const first = await startKeeping(place())
    await until('it is the keeper', 1000, () => first.terms.length === 1)
    const started: KeeperTerm[] = []
    const end = first.server.service.keeper.keep({ name: 'another', start: (term) => () => void started.push(term) })
    end()
    first.end()
    await until('there is no row', 1000, async () => (await rows(place())).length === 0)
    assert.equal(first.ended.length, 1)
    assert.equal(first.server.service.keeper.isHolding, false)
    await first.server.stop()
  })

  test('after kill -9 another node is the keeper within 10 s', async () => {
    const first = launch(place())
    await first.next()
    const epoch = await first.next()
    const second = launch(place())
    await second.next()
    const taken = second.next()
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const killed = performance.now()
    const next = await taken
    assert.ok(performance.now() - killed < 10_000)
    assert.ok(Number(next) > Number(epoch))
    second.child.kill('SIGTERM')
    await once(second.child, 'exit')
    assert.deepEqual(await rows(place()), [])
  })

  test('a keeper that hangs is followed by another within 10 s, and ends its term when it goes on', async () => {
    const first = launch(place())
    await first.next()
    const epoch = await first.next()
    const second = launch(place())
    await second.next()
    const taken = second.next()
    first.child.kill('SIGSTOP')
    const stopped = performance.now()
    const next = await taken
    assert.ok(performance.now() - stopped < 10_000)
    assert.ok(Number(next) > Number(epoch))
    first.child.kill('SIGCONT')
    assert.equal(await first.next(), 'ended')
    for (const { child } of [first, second]) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    assert.deepEqual(await rows(place()), [])
  })

  if (engine === 'sqlite')
    test('a keeper without work commits nothing, and stays the keeper', async () => {
      const [first, second] = [await startKeeping(place()), await startKeeping(place())]
      await until('a node is the keeper', 1000, () => first.terms.length + second.terms.length === 1)
      const database = new Sqlite(join(place().dataFolder, 'query.db'), { readonly: true })
      // It changes with each commit of another connection.
      const version = () => database.pragma('data_version', { simple: true })
      const before = version()
      await sleep(7_000)
      assert.equal(version(), before)
      database.close()
      assert.deepEqual([first.terms.length + second.terms.length, first.ended.length + second.ended.length], [1, 0])
      await first.server.stop()
      await second.server.stop()
      assert.deepEqual(
        await readdir(place().dataFolder).then((names) => names.filter((name) => name.endsWith('.tmp'))),
        [],
      )
    })

  if (engine === 'sqlite')
    test('a server that starts again after kill -9 is the keeper at once', async () => {
      const killed = launch(place())
      await killed.next()
      await killed.next()
      killed.child.kill('SIGKILL')
      await once(killed.child, 'exit')
      const again = await startKeeping(place())
      const started = performance.now()
      await until('it is the keeper', 500, () => again.terms.length === 1)
      assert.ok(performance.now() - started < 2000)
      await again.server.stop()
    })
})

test('while a node of an earlier version runs, nothing can be kept: 409 Upgrade.Pending', async () => {
  const keeper = new Keeper({ lease: undefined as never, onError: assert.ifError, older: async () => ['host:7'] })
  await assert.rejects(
    keeper.requireUpgraded(),
    (error) => error instanceof Refusal && error.code === 'Upgrade.Pending' && error.status === 409,
  )
})

interface Keeping {
  readonly server: QueryServer
  readonly terms: KeeperTerm[]
  readonly ended: KeeperTerm[]
  readonly end: () => void
}

async function startKeeping(place: TestPlace): Promise<Keeping> {
  const server = await startQueryServer(place)
  const terms: KeeperTerm[] = []
  const ended: KeeperTerm[] = []
  const end = server.service.keeper.keep({
    name: 'test',
    start(term) {
      terms.push(term)
      return () => void ended.push(term)
    },
  })
  return { server, terms, ended, end }
}

interface Launched {
  readonly child: ChildProcess
  /** The next line that it prints. */
  readonly next: () => Promise<string | undefined>
}

function launch({ dataFolder, databaseUrl }: TestPlace): Launched {
  const child = spawn(process.execPath, [PROGRAM, dataFolder, databaseUrl], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { child, next: async () => (await lines.next()).value }
}

async function commitIn(place: TestPlace, term: KeeperTerm): Promise<void> {
  if (place.engine === 'sqlite') onSqlite(place, (database) => sqlite.requireTerm(database, term))
  else await onPostgres(place, (client) => postgres.requireTerm(client, term))
}

async function change(place: TestPlace, set: string): Promise<void> {
  if (place.engine === 'sqlite') onSqlite(place, (database) => database.exec(`UPDATE _gh_keeper SET ${set}`))
  else await onPostgres(place, (client) => client.query(`UPDATE gatehouse_data._gh_keeper SET ${set}`))
}

async function rows(place: TestPlace): Promise<unknown[]> {
  if (place.engine === 'sqlite')
    return onSqlite(place, (database) => database.prepare('SELECT * FROM _gh_keeper').all())
  return (await onPostgres(place, (client) => client.query('SELECT * FROM gatehouse_data._gh_keeper'))).rows
}

/** In a transaction with the write lock. */
function onSqlite<Result>({ dataFolder }: TestPlace, task: (database: Sqlite.Database) => Result): Result {
  const database = new Sqlite(join(dataFolder, 'query.db'))
  try {
    return database.transaction(() => task(database)).immediate()
  } finally {
    database.close()
  }
}

/** In a transaction. */
async function onPostgres<Result>(
  { databaseUrl }: TestPlace,
  task: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('BEGIN')
    const result = await task(client)
    await client.query('COMMIT')
    return result
  } finally {
    await client.end()
  }
}
