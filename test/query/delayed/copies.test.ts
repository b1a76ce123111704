/** Copies of delayed tables: each state of them was one of the tables, as long ago as their delay, however it was written. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngine } from '../../support/engines.ts'
import { type CopyPlace, DELAY, definition, openCopies, openPostgres, quoted } from './copy-place.ts'

/** Repeatable. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A statement of another program, of any kind. */
function writeStatement(random: (below: number) => number): string {
  const table = random(2) === 0 ? 'ticks' : 'Orders "2"'
  const name = quoted(table)
  const [a, b] = [random(12), 'xyz'[random(3)]]
  const note = random(4) === 0 ? `'${'n'.repeat(3000 + random(100))}'` : random(3) === 0 ? 'NULL' : `'n${random(9)}'`
  const isOne = table === 'ticks'
  const where = isOne ? `a = ${a}` : `a = ${a} AND b = '${b}'`
  const upsert = `ON CONFLICT (${isOne ? 'a' : 'b, a'}) DO UPDATE SET v = excluded.v, note = excluded.note`
  switch (random(8)) {
    case 0:
      return `UPDATE ${name} SET v = v + 1, note = ${note}`
    case 1:
      return `DELETE FROM ${name} WHERE ${where}`
    case 2:
      return `DELETE FROM ${name}`
    case 3:
      // Moves rows to other keys, also to those that other rows have left.
      return `UPDATE ${name} SET a = a + 100 WHERE a < 100`
    case 4:
      return `UPDATE ${name} SET a = a - 100 WHERE a >= 100 AND NOT EXISTS (SELECT 1 FROM ${name} AS o WHERE o.a < 100)`
    default:
      return `INSERT INTO ${name} (a, b, v, note) VALUES (${a}, '${b}', ${random(99)}, ${note}) ${upsert}`
  }
}

onEveryEngine('copies of delayed tables', (at, engine) => {
  let place: CopyPlace
  before(async () => {
    place = await openCopies(at(), [definition('ticks', ['a'], [DELAY]), definition('Orders "2"', ['b', 'a'], [DELAY])])
  })
  after(() => place.close())

  /** Writes, marks and moves until so many states were equal to those of their marks. */
  async function compare(seed: number, count: number): Promise<void> {
    const random = createRandom(seed)
    const states = new Map<bigint, string>()
    let compared = 0
    let last: bigint | undefined
    for (const begun = Date.now(); compared < count; ) {
      assert.ok(Date.now() - begun < 60_000)
      // A statement whose keys are taken changes nothing.
      for (let left = random(4); left > 0; left--) await place.run(writeStatement(random)).catch(() => {})
      const now = await place.dump()
      await place.mark()
      states.set(await place.lastMark(), now)
      await place.tend()
      await place.move()
      const asOf = await place.asOf()
      assert.ok(asOf === undefined || asOf <= BigInt(Date.now() - DELAY) * 1000n, `${asOf}`)
      const expected = asOf === undefined ? undefined : states.get(asOf)
      if (asOf === last || expected === undefined) continue
      last = asOf
      assert.equal(await place.dump(DELAY), expected, `seed ${seed}`)
      compared++
    }
  }

  test('inserts, updates, deletes and other keys of another program: each state was one of both tables', async () => {
    await compare(1, 20)
  })

  test('a copy of a table with rows is filled, and shows nothing before it is a state as long ago as its delay', async () => {
    const [ticks] = place.tables
    assert.ok(ticks)
    await place.run(`INSERT INTO ticks (a, b) SELECT 1000 + i, 'f' FROM (${numbers(engine, 21_000)}) AS n`)
    const changed = { ...ticks, delays: [DELAY, 2 * DELAY] }
    await place.engine.change({
      changes: [
        { change: { kind: 'alter', name: 'ticks', from: ticks, table: changed, step: { kind: 'rights' } }, fill: null },
      ],
    })
    const phases = async () => (await place.engine.delayed.list()).map(({ delay, phase }) => `${delay} ${phase}`).sort()
    assert.deepEqual(await phases(), ['1000 open', '1000 open', '2000 filling'])
    const begun = Date.now()
    const seen = new Set<string>()
    while (!(await phases()).includes('2000 open')) {
      assert.ok(Date.now() - begun < 60_000)
      await place.run(`UPDATE ticks SET v = ${Date.now() % 1000} WHERE a = 1001`)
      await place.mark()
      await place.tend()
      await place.move()
      for (const phase of await phases()) seen.add(phase)
    }
    assert.ok(seen.has('2000 filled'))
    assert.ok(Date.now() - begun >= 2 * DELAY)
    const [row] = await place.rows(`SELECT count(*) AS n FROM ${await copy('ticks', 2 * DELAY)}`)
    assert.ok(Number(row?.n) >= 21_000)
    await place.engine.change({
      changes: [
        { change: { kind: 'alter', name: 'ticks', from: changed, table: ticks, step: { kind: 'rights' } }, fill: null },
      ],
    })
    assert.deepEqual(await phases(), ['1000 open', '1000 open'])
    await place.run('DELETE FROM ticks')
  })

  async function copy(table: string, delay: number): Promise<string> {
    const state = (await place.engine.delayed.list()).find((each) => each.base === table && each.delay === delay)
    return quoted(state?.name ?? '')
  }

  test('columns that are added begin the copy anew; indexes do not', async () => {
    const [, orders] = place.tables
    assert.ok(orders)
    const index = { name: 'orders_note', unique: true, columns: [{ name: 'note', descending: false }] }
    const indexed = { ...orders, indexes: [...orders.indexes, index] }
    const step = { kind: 'create-index', index } as const
    await place.run(`DELETE FROM ${quoted('Orders "2"')}`)
    await place.engine.change({
      changes: [{ change: { kind: 'alter', name: orders.name, from: orders, table: indexed, step }, fill: null }],
    })
    assert.ok((await place.engine.delayed.list()).every(({ phase }) => phase === 'open'))
    const dropped = { kind: 'drop-index', index: 'orders_note' } as const
    await place.engine.change({
      changes: [
        { change: { kind: 'alter', name: orders.name, from: indexed, table: orders, step: dropped }, fill: null },
      ],
    })
    await compare(2, 20)
  })

  test('a table that another program has emptied at once is copied anew', { skip: engine === 'sqlite' }, async () => {
    await place.run(`INSERT INTO ticks (a, b) VALUES (1, 'x')`)
    await place.run('TRUNCATE ticks')
    await place.run(`INSERT INTO ticks (a, b) VALUES (2, 'y')`)
    await place.mark()
    await place.tend()
    const find = async () => (await place.engine.delayed.list()).find(({ base }) => base === 'ticks')
    assert.notEqual((await find())?.phase, 'open')
    for (const begun = Date.now(); (await find())?.phase !== 'open'; await sleep(50)) {
      assert.ok(Date.now() - begun < 20_000)
      await place.mark()
      await place.tend()
      await place.move()
    }
    await compare(3, 20)
  })

  test('transactions that run beside marks are in a state as a whole', { skip: engine === 'sqlite' }, async () => {
    const orders = quoted('Orders "2"')
    const { databaseUrl } = at()
    for (const table of ['ticks', orders]) {
      await place.run(`DELETE FROM ${table}`)
      await place.run(`INSERT INTO ${table} (a, b, v) SELECT i, 'x', 100 FROM generate_series(0, 7) AS i`)
    }
    const writers = await Promise.all(Array.from({ length: 4 }, () => openPostgres(databaseUrl)))
    let isOver = false
    const random = createRandom(7)
    const moving = writers.map(async (writer) => {
      while (!isOver) {
        const [from, to, pause] = [random(8), random(8), random(60) / 1000]
        const [take, give] = random(2) === 0 ? ['ticks', orders] : [orders, 'ticks']
        await writer
          .rows(
            `BEGIN; UPDATE ${take} SET v = v - 1 WHERE a = ${from}; SELECT pg_sleep(${pause});
             UPDATE ${give} SET v = v + 1 WHERE a = ${to}; COMMIT`,
          )
          .catch(() => writer.rows('ROLLBACK'))
      }
    })
    try {
      let last: bigint | undefined
      for (let states = 0; states < 20; await sleep(20)) {
        await place.mark()
        await place.move()
        const asOf = await place.asOf()
        if (asOf === last) continue
        last = asOf
        const lines = (await place.dump(DELAY)).split('\n').filter((line) => line !== '')
        const values = lines.map((line) => Number(JSON.parse(line)[3]))
        if (values.length !== 16) continue
        assert.equal(
          values.reduce((sum, value) => sum + value, 0),
          1_600,
        )
        states++
      }
    } finally {
      isOver = true
      await Promise.all(moving)
      await Promise.all(writers.map((writer) => writer.close()))
    }
  })

  test('a restart finds copies as they were', async () => {
    await compare(4, 5)
    const before = await place.engine.delayed.list()
    await place.close()
    place = await openCopies(at(), [])
    Object.assign(place, {
      tables: [definition('ticks', ['a'], [DELAY]), definition('Orders "2"', ['b', 'a'], [DELAY])],
    })
    assert.deepEqual(await place.engine.delayed.list(), before)
    await compare(5, 20)
  })
})

function numbers(engine: string, count: number): string {
  return engine === 'sqlite'
    ? `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n`
    : `SELECT i FROM generate_series(1, ${count}) AS i`
}
