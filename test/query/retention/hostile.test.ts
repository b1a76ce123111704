/** Retention where it meets something else: live statements, holds, clocks, other programs, other nodes, restored files. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { CALLERS, type QueryServer, type ServerOptions, startQueryServer } from '../query-server.ts'

const DAY = 86_400_000
const KEEPING_SERVER = fileURLToPath(new URL('../keeper/keeping-server.ts', import.meta.url))
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()

onEveryEngine('retention and others', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const must = async (statement: string, on = server) => {
    const reply = await on.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const create = (table: string, more = '') =>
    must(`CREATE TABLE ${table} (at Timestamp NOT NULL, id Integer, v Integer, PRIMARY KEY (at, id)) ${more}`)
  const fill = (table: string, days: readonly number[]) =>
    must(`INSERT INTO ${table} VALUES ${days.map((day, index) => `('${ago(day)}', ${index + 1}, 0)`).join(', ')}`)
  const keep = (table: string, time = '30 days', on = server) =>
    must(`ALTER TABLE ${table} SET WITH (retention = '${time}' ON at)`, on)
  const ids = async (table: string) =>
    (await must(`SELECT id FROM ${table} ORDER BY id`)).Rows.map(({ id }) => Number(id))
  const count = async (table: string) => Number((await must(`SELECT count(*) AS n FROM ${table}`)).Rows[0]?.n)
  const run = async (table: string, on = server) =>
    (await on.service.retention()).run(table, AbortSignal.timeout(60_000))
  /** What the server complained about. */
  const findFaults = () => server.log.filter((line) => !line.includes('"level":"info"'))
  const restart = async (options: ServerOptions = {}) => {
    await server.stop()
    server = await startQueryServer(place(), options)
  }

  test('a hold that is set while rows are deleted stands after the step; once it is released the rest goes', async () => {
    await create('interrupted')
    await bulkInsert('interrupted', 100_000)
    await keep('interrupted')
    await until('some rows are deleted', 20_000, async () => (await count('interrupted')) < 100_000)
    await must('ALTER TABLE interrupted SET WITH (hold = on)')
    const held = await count('interrupted')
    assert.ok(held > 0, 'the table was emptied before the hold')
    await assert.rejects(run('interrupted'), /is held/)
    assert.equal(await count('interrupted'), held)
    assert.deepEqual(findFaults(), [])
    await must('ALTER TABLE interrupted SET WITH (hold = off)')
    await run('interrupted')
    assert.equal(await count('interrupted'), 0)
  })

  test('a table that is dropped while its rows are deleted is no fault; another of its name begins anew', async () => {
    await create('dropped')
    await bulkInsert('dropped', 20_000)
    await keep('dropped')
    await until('some rows are deleted', 20_000, async () => (await count('dropped')) < 20_000)
    await must('DROP TABLE dropped')
    await create('dropped')
    await fill('dropped', [40, 1])
    await keep('dropped', '60 days')
    await run('dropped')
    assert.deepEqual(await ids('dropped'), [1, 2])
    assert.deepEqual(findFaults(), [])
  })

  test('a sign-in that is too weak sets no retention and sees no preview; nor does a caller without the right', async () => {
    await create('strict', 'WRITE REQUIRE (acr = 2)')
    const alter = `ALTER TABLE strict SET WITH (retention = '30 days' ON at)`
    for (const statement of [alter, `EXPLAIN ${alter}`]) {
      const weak = await server.query(statement)
      assert.deepEqual([weak.status, weak.json.Code], [401, 'Auth.StepUp'], statement)
      const market = await server.query(statement, { as: 'market' })
      assert.notEqual(market.status, 200, statement)
    }
    const rounds = await server.service.retention()
    const { admin } = CALLERS
    assert.ok(admin)
    const retention = { time: '30 days', on: 'at' }
    await assert.rejects(rounds.set(admin, 'strict', { retention }), { code: 'Auth.StepUp' })
    await assert.rejects(rounds.explain(admin, 'strict', { retention }), { code: 'Auth.StepUp' })
    const erasure = { where: 'id = 1', parameters: {}, reason: 'a test', isDryRun: false }
    await assert.rejects(rounds.erase(admin, 'strict', erasure), { code: 'Auth.StepUp' })
    assert.equal(await rounds.find('strict'), undefined)
  })

  test('closed rows that a row filter hides do not stand in the way of a statement over open ones', async () => {
    await must(
      `CREATE TABLE mine (at Timestamp NOT NULL, id Integer, owner Text, PRIMARY KEY (at, id))
       WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :username)`,
    )
    const rows = [
      ['trader', 1],
      ['market', 40],
    ].map(([owner, days], id) => `('${ago(Number(days))}', ${id}, '${owner}')`)
    for (const [index, as] of ['trader', 'market'].entries())
      assert.equal((await server.query(`INSERT INTO mine VALUES ${rows[index]}`, { as })).status, 200)
    await restart({ clock: () => Date.now() + 3_600_000 })
    await keep('mine')
    const deleted = (as: string) => server.query('DELETE FROM mine ALL', { as })
    assert.equal((await deleted('trader')).json.RowsAffected, 1)
    assert.equal((await deleted('market')).json.Code, 'Data.TooOld')
    await restart()
  })

  test('a node whose clock is set while it runs deletes nothing until an operator says that it is right', async () => {
    let offset = 0
    await restart({ clock: () => Date.now() + offset })
    await create('stepped')
    await fill('stepped', [40, 1])
    await keep('stepped')
    await run('stepped')
    for (const step of [-7_200_000, 7_200_000, 120_000]) {
      offset = step
      await assert.rejects(run('stepped'), /differ by/, `${step} ms`)
    }
    offset = 0
    assert.equal((await run('stepped'))?.Rows, 0)
    await restart()
  })

  test('years and zones: the horizon is in UTC, far back too', async () => {
    await create('ages')
    const times = [
      '1901-01-01T00:00:00Z',
      '0001-01-01T00:00:00Z',
      '1969-12-31T23:59:59.999999Z',
      '9999-12-31T23:59:59Z',
    ]
    await must(`INSERT INTO ages VALUES ${times.map((time, id) => `('${time}', ${id}, 0)`).join(', ')}`)
    await keep('ages', '100 years')
    await run('ages')
    assert.deepEqual(await ids('ages'), [2, 3])
    await keep('ages', '1 minute')
    await run('ages')
    assert.deepEqual(await ids('ages'), [3])
    const listed = await (await server.service.retention()).find('ages')
    assert.match(String(listed?.oldest), /^9999-12-31/)
  })

  test('a live statement that bounds the time is sent no removal; one that holds the rows is', async () => {
    await create('watched')
    await fill('watched', [40, 35, 1])
    const bounded = follow(`SELECT id, v FROM watched WHERE at >= '${ago(10)}'`)
    const whole = follow('SELECT id, v FROM watched')
    await until('both have their rows', 10_000, () => [bounded, whole].every(({ text }) => text().includes('Snapshot')))
    await keep('watched')
    await run('watched')
    await must(`INSERT INTO watched VALUES ('${ago(0)}', 77, 0)`)
    await until('both have the new row', 10_000, () => [bounded, whole].every(({ text }) => text().includes('77')))
    assert.equal(bounded.text().includes('Remove'), false, bounded.text())
    await until('the removals have come', 10_000, () => whole.text().includes('Remove'))
    bounded.stop()
    whole.stop()
  })

  test('two nodes: what one refuses the other refuses, and another goes on when the keeper has gone', async () => {
    await create('shared')
    await fill('shared', [40, 35, 20, 1])
    await keep('shared', '36 days')
    await run('shared')
    const other = await startQueryServer(place())
    const old = `INSERT INTO shared VALUES ('${ago(50)}', 9, 0)`
    for (const node of [server, other]) assert.equal((await node.query(old)).json.Code, 'Data.TooOld')
    await server.stop()
    await keep('shared', '10 days', other)
    await run('shared', other)
    server = other
    assert.deepEqual(await ids('shared'), [4])
  })

  test('after kill -9 of the keeper amid its work another node deletes the rest', async (test) => {
    await create('killed')
    await bulkInsert('killed', 100_000)
    await must(`ALTER TABLE killed SET WITH (retention = '30 days' ON at, hold = on)`)
    await server.stop()
    const { dataFolder, databaseUrl } = place()
    const keeper = spawn(process.execPath, [KEEPING_SERVER, dataFolder, databaseUrl], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const said: string[] = []
    keeper.stdout.on('data', (part) => said.push(String(part)))
    await until('the other process is the keeper', 30_000, () => /\d/.test(said.join('')))
    server = await startQueryServer(place())
    await must('ALTER TABLE killed SET WITH (hold = off)')
    await until('it deletes rows', 20_000, async () => (await count('killed')) < 100_000)
    keeper.kill('SIGKILL')
    if ((await count('killed')) === 0) test.diagnostic('it was done before it was killed')
    await until('the rest is deleted', 20_000, async () => (await count('killed')) === 0)
  })

  test('no refused row is stored, and none is left before the cut, while writers and horizons move at once', async () => {
    await create('raced')
    const end = Date.now() + 3_000
    const accepted = new Map<number, number>()
    let id = 0
    let refused = 0
    const writer = async () => {
      while (Date.now() < end) {
        const [own, days] = [++id, 10.5 + Math.floor(Math.random() * 40)]
        const reply = await server.query(`INSERT INTO raced VALUES ('${ago(days)}', ${own}, 0)`)
        if (reply.status === 200) accepted.set(own, days)
        else {
          assert.equal(reply.json.Code, 'Data.TooOld', reply.text)
          refused++
        }
      }
    }
    const mover = async () => {
      for (let days = 48; days >= 20 && Date.now() < end; days -= 2) await keep('raced', `${days} days`)
    }
    await Promise.all([writer(), writer(), writer(), mover()])
    await keep('raced', '19 days')
    await run('raced')
    const left = await ids('raced')
    const young = [...accepted].filter(([, days]) => days < 19).map(([own]) => own)
    assert.deepEqual(
      left.toSorted((a, b) => a - b),
      young.toSorted((a, b) => a - b),
    )
    assert.ok(refused > 0 && young.length > 0, `${refused} refused, ${young.length} stay`)
  })

  if (engine === 'postgres') {
    test('infinite times and those of other calendars neither stop the rounds nor stay', async () => {
      await create('endless')
      await foreign(
        `INSERT INTO gatehouse_data.endless VALUES ('-infinity', 1, 0), ('4713-01-01 BC', 2, 0), (now(), 3, 0), ('infinity', 4, 0), ('294276-01-01', 5, 0)`,
      )
      const { Rows } = await must(`EXPLAIN ALTER TABLE endless SET WITH (retention = '30 days' ON at)`)
      assert.equal(Number(Rows[0]?.rows), 2)
      await keep('endless')
      await run('endless')
      const listed = (await (await server.service.retention()).list()).find(({ table }) => table === 'endless')
      assert.partialDeepStrictEqual(listed, { fault: null, hold: false })
      assert.deepEqual(await ids('endless'), [3, 4, 5])
      await foreign('DELETE FROM gatehouse_data.endless WHERE id = 3')
      await run('endless')
      await (await server.service.retention()).list()
      await assert.rejects(foreign(`INSERT INTO gatehouse_data.endless VALUES ('-infinity', 6, 0)`), /retention/)
      assert.deepEqual(findFaults(), [])
    })

    test('the time zone of another program changes nothing', async () => {
      await must('CREATE TABLE zoned (day Date NOT NULL, id Integer, PRIMARY KEY (day, id))')
      await must(`ALTER TABLE zoned SET WITH (retention = '1 day' ON day)`)
      const yesterday = new Date(Date.now() - DAY).toISOString().slice(0, 10)
      const before = new Date(Date.now() - 2 * DAY).toISOString().slice(0, 10)
      for (const [index, zone] of ['Pacific/Kiritimati', 'Pacific/Niue', 'UTC'].entries()) {
        const insert = (day: string) =>
          foreign(`SET timezone = '${zone}'; INSERT INTO gatehouse_data.zoned VALUES ('${day}', ${index})`)
        await insert(yesterday)
        await assert.rejects(insert(before), /retention/, zone)
      }
    })
  } else {
    test('a file from before a cut: its rows go again, unless a hold came first', async () => {
      await create('restored')
      await fill('restored', [40, 35, 1])
      await keep('restored')
      await run('restored')
      await server.stop()
      const { dataFolder } = place()
      const saved = join(dataFolder, 'before')
      mkdirSync(saved)
      const copy = (from: string, to: string) => {
        for (const file of ['query.db', 'query.db-wal', 'query.db-shm']) {
          rmSync(join(to, file), { force: true })
          if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file))
        }
      }
      server = await startQueryServer(place(), { clock: () => Date.now() + 3_600_000 })
      await fillClosed()
      await server.stop()
      copy(dataFolder, saved)
      server = await startQueryServer(place())
      await run('restored')
      assert.deepEqual(await ids('restored'), [3])
      await server.stop()
      copy(saved, dataFolder)
      // As `gatehouse apply` does it while the server is stopped.
      server = await startQueryServer(place(), { clock: () => Date.now() + 3_600_000 })
      await must('ALTER TABLE restored SET WITH (hold = on)')
      await restart()
      await assert.rejects(run('restored'), /is held/)
      assert.deepEqual(await ids('restored'), [3, 4, 5])
      await must('ALTER TABLE restored SET WITH (hold = off)')
      await run('restored')
      assert.deepEqual(await ids('restored'), [3])

      /** Rows that are closed and not deleted yet, however fast the server was. */
      async function fillClosed(): Promise<void> {
        await must('ALTER TABLE restored SET WITH (retention = NULL)')
        await must(`INSERT INTO restored VALUES ('${ago(29)}', 4, 0), ('${ago(28)}', 5, 0)`)
        await keep('restored', '10 days')
      }
    })
  }

  function follow(statement: string): { text: () => string; stop: () => void } {
    const stop = new AbortController()
    const parts: string[] = []
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain', accept: 'text/event-stream' }
    void (async () => {
      const init = { method: 'POST', body: statement, headers, signal: stop.signal }
      const response = await fetch(`${server.url}/query`, init)
      for await (const part of response.body ?? []) parts.push(Buffer.from(part).toString())
    })().catch(() => {})
    return { text: () => parts.join(''), stop: () => stop.abort() }
  }

  /** Rows of 40 days ago. */
  async function bulkInsert(table: string, rows: number): Promise<void> {
    const at = ago(40)
    const lines = Array.from({ length: rows }, (_row, id) => `${at},${id + 1},0`)
    const headers = { 'content-type': 'text/csv', authorization: 'Bearer admin' }
    const body = `at,id,v\n${lines.join('\n')}\n`
    const response = await fetch(`${server.url}/query/${table}/insert`, { method: 'POST', headers, body })
    assert.equal(response.status, 200, await response.text())
  }

  async function foreign(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: place().databaseUrl })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }
})
