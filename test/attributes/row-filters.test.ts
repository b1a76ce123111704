/** Row filters over attributes of the caller, on every engine: what they show, what they refuse, and when live statements are reset. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { AttributeValues } from '../../packages/server/src/store/accounts/user.ts'
import { Choice } from '../query/agree/choice.ts'
import { LiveClient } from '../query/live/live-client.ts'
import { type QueryServer, startQueryServer } from '../query/query-server.ts'
import { IS_LONG_RUN, onEveryEngine } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { buildInsert, DEFINITIONS, randomFilter, randomRows, randomValues, TABLE } from './filter-model.ts'

/** A run of the random filters ends after this time or this many of them; on a machine that is busy, after the fewest. */
const FEWEST_FILTERS = 8
const LONGEST_MS = IS_LONG_RUN ? 60_000 : 1_500
const MOST_FILTERS = IS_LONG_RUN ? 5_000 : 100
const VALUES_PER_FILTER = 4

onEveryEngine('row filters over attributes', (place) => {
  let server: QueryServer
  const bus = createLocalBus()
  /** By subject, or by client for callers without a user. */
  const held = new Map<string, AttributeValues>()
  const definitions = [...DEFINITIONS]
  before(async () => {
    server = await startQueryServer(place(), {
      bus,
      attributes: {
        definitions: async () => definitions,
        currentValues: async ({ kind, subject, clientId }) => held.get(kind === 'user' ? subject : clientId) ?? {},
      },
    })
    await run(
      `${TABLE} READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`,
      "CREATE TABLE plain (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market'",
    )
  })
  afterEach(() => LiveClient.closeAll())
  after(() => server.stop())

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const setFilter = (filter: string) => run(`ALTER TABLE filtered SET ROW FILTER (${filter})`)
  const shown = async (as: string): Promise<unknown[]> => {
    const reply = await server.query('SELECT id FROM filtered ORDER BY id', { as })
    assert.equal(reply.status, 200, reply.text)
    return reply.json.Rows.map(({ id }) => id)
  }

  test('random filters show the rows that three-valued logic makes true, for every set of values', async (t) => {
    const seed = Date.now() % 2 ** 31
    const choice = new Choice(seed)
    const rows = randomRows(choice, 25)
    await run('ALTER TABLE filtered SET ROW FILTER NULL', 'DELETE FROM filtered ALL', buildInsert(rows))
    const end = performance.now() + LONGEST_MS
    let filters = 0
    let visible = 0
    for (; filters < FEWEST_FILTERS || (filters < MOST_FILTERS && performance.now() < end); filters++) {
      const filter = randomFilter(choice, 3)
      await setFilter(filter.text)
      for (const values of [{}, ...Array.from({ length: VALUES_PER_FILTER }, () => randomValues(choice))]) {
        held.set('market', values)
        const wanted = rows.filter((row) => filter.test(row, values) === true).map(({ id }) => id)
        assert.deepEqual(await shown('market'), wanted, `seed ${seed}: ${filter.text} with ${JSON.stringify(values)}`)
        visible += wanted.length
      }
    }
    t.diagnostic(`${filters} filters, ${visible} visible rows`)
    assert.ok(visible > 0, 'some rows are visible')
  })

  test('without a value, no comparison shows a row, however it is negated', async () => {
    const seen = "INSERT INTO filtered VALUES (100, 'FX', 1, true, DATE '2026-11-17')"
    await run('ALTER TABLE filtered SET ROW FILTER NULL', 'DELETE FROM filtered ALL', seen)
    held.clear()
    for (const filter of [
      ...['t = :attribute.desk', 't <> :attribute.desk', 'NOT (t = :attribute.desk)', 'NOT (t <> :attribute.desk)'],
      ...['t IN (:attribute.desk)', 't NOT IN (:attribute.desk)', 'NOT (t NOT IN (:attribute.desk))'],
      ...[
        ':attribute.desk <> t',
        'n <> :attribute.level',
        'NOT n > :attribute.level',
        'n NOT IN (7, :attribute.level)',
      ],
      ...['n NOT BETWEEN :attribute.level AND 0', 'NOT (n BETWEEN 5 AND :attribute.level) OR n <> :attribute.level'],
      ...['b <> :attribute.flag', 'NOT (b = :attribute.flags)', 'd <> :attribute.since', 'd NOT IN (:attribute.days)'],
      ...[
        ':attribute.level = :attribute.level',
        ':attribute.level <> 5',
        'NOT (:attribute.constructor = :attribute.desk)',
      ],
    ]) {
      await setFilter(filter)
      // One of these has decided already, whatever the value is.
      const isKnown = filter.startsWith('n NOT BETWEEN') || filter.startsWith('NOT (n BETWEEN 5')
      assert.deepEqual(await shown('market'), isKnown ? [100] : [], filter)
    }
  })

  test('a filter in which absence could become a row is refused', async () => {
    for (const filter of [
      ...[':attribute.level IS NULL', ':attribute.desk IS NOT NULL', '(t = :attribute.desk) IS NULL'],
      ...[
        '(t = :attribute.desk) IS NOT TRUE',
        '(n = :attribute.level) IS FALSE',
        'n IS DISTINCT FROM :attribute.level',
      ],
      ...['n IS NOT DISTINCT FROM :attribute.level', 'n = coalesce(:attribute.level, 1)'],
      ...['coalesce(n = :attribute.level, true)', 'CASE WHEN n = :attribute.level THEN false ELSE true END'],
      ...['CASE :attribute.level WHEN n THEN false ELSE true END', '(n = :attribute.level) = false'],
      ...['n > :attribute.level + 1', 'n = -:attribute.level', 'n = CAST(:attribute.level AS Integer)'],
      ...['t LIKE :attribute.constructor', 't = lower(:attribute.constructor)', "t || :attribute.constructor = 'x'"],
      ...[':attribute.flag', 'NOT :attribute.flag', 'b AND :attribute.flag', 'nullif(n, :attribute.level) = 1'],
      ...['n < :attribute.levels', 'n BETWEEN 1 AND :attribute.levels', 'n IN (1, :attribute.levels)'],
      ...[':attribute.levels IN (1, 2)', ':attribute.levels = :attribute.levels', 'EXISTS (SELECT :attribute.level)'],
      ...['n = (SELECT :attribute.level)', 'b = (n IN (:attribute.levels))', '(n IN (:attribute.levels)) IN (true)'],
      ...[
        't = :attribute.desks',
        't = :attribute',
        't = :attribute.',
        't = :attribute.toString',
        't = :attribute.__proto__',
      ],
    ]) {
      const before = await server.query(`ALTER TABLE filtered SET ROW FILTER (${filter})`)
      assert.equal(before.status, 400, `${filter}: ${before.text}`)
      assert.ok(['IQL.BadDefinition', 'IQL.Syntax'].includes(before.json.Code), `${filter}: ${before.text}`)
      const created = await server.query(
        `CREATE TABLE refused (t Text, n Integer, b Boolean, d Date) ROW FILTER (${filter})`,
      )
      assert.equal(created.json.Code, before.json.Code, filter)
    }
    const mixed = await server.query('ALTER TABLE filtered SET ROW FILTER (n = :attribute.desk)')
    assert.equal(mixed.json.Code, 'IQL.TypeMismatch')
  })

  test('a statement cannot use or set the attributes of its caller', async () => {
    const own = await server.query('SELECT id FROM filtered WHERE t = :attribute.desk', { as: 'market' })
    assert.equal(own.json.Code, 'IQL.UnknownParameter')
    await setFilter('t = :attribute.desk')
    held.set('market', { desk: ['FX'] })
    assert.deepEqual(await shown('market'), [100])
    held.set('market', { desk: ['Rates'] })
    const given = { Statement: 'SELECT id FROM filtered', Parameters: { 'attribute.desk': 'FX' } }
    assert.notEqual((await server.call('/query', given, { as: 'market' })).status, 200)
    assert.deepEqual(await shown('market'), [])
  })

  test('a caller writes only rows that their attributes show', async () => {
    await setFilter('t IN (:attribute.desk)')
    held.set('market', { desk: ['FX'] })
    const write = async (statement: string) => (await server.query(statement, { as: 'market' })).json
    assert.equal((await write("INSERT INTO filtered VALUES (101, 'Rates', 1, true, NULL)")).Code, 'IQL.RowFilter')
    assert.equal((await write("INSERT INTO filtered VALUES (101, 'FX', 1, true, NULL)")).RowsAffected, 1)
    assert.equal((await write("UPDATE filtered SET t = 'Rates' WHERE id = 101")).Code, 'IQL.RowFilter')
    held.clear()
    assert.equal((await write("INSERT INTO filtered VALUES (102, 'FX', 1, true, NULL)")).Code, 'IQL.RowFilter')
    assert.equal((await write('DELETE FROM filtered WHERE id = 101')).RowsAffected, 0)
    held.set('market', { desk: ['FX'] })
    assert.equal((await write('DELETE FROM filtered WHERE id = 101')).RowsAffected, 1)
  })

  test('a token without a user has the attributes of its client', async () => {
    await setFilter('t = :attribute.desk')
    held.set('service', { desk: ['Rates'] }).set('service-client', { desk: ['FX'] })
    assert.deepEqual(await shown('service'), [100])
  })

  test('a change resets the live statements of its caller whose filters use attributes, and no others', async () => {
    await setFilter('t = :attribute.desk')
    for (const name of ['admin', 'market', 'trader']) held.set(name, { desk: ['FX'] })
    const follow = (as: string, text: string) => LiveClient.follow(server, text, { as })
    const own = await follow('market', 'SELECT id FROM filtered')
    const others = [await follow('trader', 'SELECT id FROM filtered'), await follow('market', 'SELECT id FROM plain')]
    held.set('market', { desk: ['Rates'] })
    const started = performance.now()
    await bus.publish({ kind: 'user-changed', subject: 'market', attributes: ['desk'] })
    await own.holds([])
    assert.ok(performance.now() - started < 1000)
    held.set('market', { desk: ['FX', 'Rates'] })
    await bus.publish({ kind: 'user-changed', subject: 'market' })
    await own.holds([{ id: 100 }])
    assert.deepEqual(own.applier.reasons, ['Rights', 'Rights'])
    // With another attribute the result stays.
    held.set('market', { desk: ['FX', 'Rates'], level: [1] })
    await bus.publish({ kind: 'user-changed', subject: 'market', attributes: ['level'] })
    await run("INSERT INTO filtered VALUES (103, 'FX', 1, true, NULL)")
    await own.holds([{ id: 100 }, { id: 103 }])
    assert.equal(own.applier.reasons.length, 2)
    for (const other of others) assert.deepEqual(other.applier.reasons, [])
    await run('DELETE FROM filtered WHERE id = 103')
  })

  test('a live statement whose table gets its first filter over attributes follows them from then on', async () => {
    await run('ALTER TABLE filtered SET ROW FILTER NULL')
    held.set('market', { desk: ['FX'] })
    const client = await LiveClient.follow(server, 'SELECT id FROM filtered', { as: 'market' })
    await setFilter('t <> :attribute.desk')
    await client.holds([])
    held.set('market', { desk: ['Rates'] })
    await bus.publish({ kind: 'user-changed', subject: 'market', attributes: ['desk'] })
    await client.holds([{ id: 100 }])
  })

  test('a filter whose attribute has gone shows nothing', async () => {
    await setFilter("t = :attribute.desk OR t = 'FX'")
    held.set('market', { desk: ['FX'] })
    const index = definitions.findIndex(({ name }) => name === 'desk')
    const [removed] = definitions.splice(index, 1)
    await bus.publish({ kind: 'attributes-changed' })
    await server.service.tables.refresh()
    assert.deepEqual(await shown('market'), [])
    if (removed !== undefined) definitions.push(removed)
    await server.service.tables.refresh()
    assert.deepEqual(await shown('market'), [100])
  })
})
