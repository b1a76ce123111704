/** Step-up over PostgreSQL's protocol: every part of a write is checked, in whatever order the parts come. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { message } from '../support/wire-client.ts'
import { type Answer, bind, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'
import { openStepUpPlace, type StepUpPlace } from './step-up-place.ts'

const DONE = message('c')
/** Two columns of the protected table. */
const ROW = message('d', '7\t1\n')
/** Its key 1 is taken. */
const TAKEN = message('d', '1\t1\n')
const OPEN_ROW = message('d', '8\n')

onEveryEngine('step-up over the wire', (at) => {
  let place: StepUpPlace
  let weak: WireSession
  let strong: WireSession
  before(async () => {
    place = await openStepUpPlace(at(), { '--wire-port': '0', '--wire-writes': 'true' })
    const open = (token: string) => WireSession.open(place.server.wirePort ?? 0, 'carol', token)
    weak = await open(place.weak)
    strong = await open(place.strong)
    await strong.query("CREATE TABLE plain (id Integer PRIMARY KEY) WRITE SCOPE 'Platform/Market'")
    assert.deepEqual((await strong.query('INSERT INTO limits VALUES (1, 1)')).errors, [])
  })
  after(async () => {
    weak.close()
    strong.close()
    await place.close()
  })

  const query = (text: string) => message('Q', `${text}\0`)
  const readIds = async (table: string) =>
    texts(await strong.query(`SELECT id FROM ${table} ORDER BY id`))
      .flat()
      .join()
  const requireNothingWritten = async () => {
    assert.deepEqual([await readIds('limits'), await readIds('positions'), await readIds('plain')], ['1', '1,2', ''])
  }

  /** Sends everything until the session is ready again as often as Queries were sent. */
  async function send(session: WireSession, ...messages: readonly Buffer[]): Promise<Answer[]> {
    const answers: Answer[] = []
    let pending: Buffer[] = []
    for (const one of messages) {
      if (one[0] === 0x51 && pending.length > 0) {
        answers.push(await session.send(...pending))
        pending = []
      }
      pending.push(one)
    }
    answers.push(await session.send(...pending))
    return answers
  }

  const readCodes = (answers: readonly Answer[]) => answers.flatMap(({ errors }) => errors.map(({ C }) => C))

  const copy = (table: string) => query(`COPY ${table} FROM STDIN`)
  const insert = query('INSERT INTO plain VALUES (9)')
  for (const table of ['limits', 'positions'])
    for (const row of [ROW, TAKEN]) {
      const key = row === TAKEN ? 'a taken key' : 'a new row'
      for (const [name, messages] of [
        ['COPY alone', [copy(table), row, DONE]],
        ['COPY first in a block', [query('BEGIN'), copy(table), row, DONE, query('COMMIT')]],
        ['COPY after an INSERT', [query('BEGIN'), insert, copy(table), row, DONE, query('COMMIT')]],
        ['COPY after a COPY', [query('BEGIN'), copy('plain'), OPEN_ROW, DONE, copy(table), row, DONE, query('COMMIT')]],
        ['COPY before an INSERT', [query('BEGIN'), copy(table), row, DONE, insert, query('COMMIT')]],
        [
          'COPY after an INSERT in one Query',
          [query(`BEGIN; INSERT INTO plain VALUES (9); COPY ${table} FROM STDIN; COMMIT`), row, DONE],
        ],
        [
          'COPY after an INSERT in an implicit block',
          [query(`INSERT INTO plain VALUES (9); COPY ${table} FROM STDIN`), row, DONE],
        ],
      ] as const)
        test(`${name} is refused for ${table}, with ${key}, and nothing is written`, async () => {
          const answers = await send(weak, ...messages)
          const codes = readCodes(answers)
          await weak.query('ROLLBACK')
          assert.equal(codes[0], '42501', JSON.stringify(answers))
          assert.equal(codes.includes('23505'), false)
          const refused = answers.find(({ errors }) => errors.length > 0)
          assert.match(refused?.errors[0]?.D ?? '', /^Auth\.StepUp/)
          // Before the client sends its rows, as PostgreSQL refuses a COPY without the privilege.
          assert.doesNotMatch(refused?.letters ?? '', /^(C*)G.*E/)
          await requireNothingWritten()
        })
    }

  test('a sign-in that has become too old before COMMIT writes nothing, whatever its rows came from', async () => {
    await strong.query(
      "CREATE TABLE recent (id Integer PRIMARY KEY) WRITE SCOPE 'Platform/Market' WRITE REQUIRE (age = 60)",
    )
    for (const second of [[copy('recent'), message('d', '1\n'), DONE], [query('INSERT INTO recent VALUES (1)')]]) {
      const aged = await WireSession.open(place.server.wirePort ?? 0, 'carol', await place.token(1))
      assert.deepEqual(readCodes(await send(aged, query('BEGIN'), insert, ...second)), [])
      place.clock.advance(61_000)
      assert.deepEqual(readCodes([await aged.query('COMMIT')]), ['42501'])
      aged.close()
    }
    assert.equal(await readIds('plain'), '')
  })

  test('INSERT … SELECT from a protected table, prepared INSERTs of a pipeline and CREATE TABLE AS are refused', async () => {
    const session = await WireSession.open(place.server.wirePort ?? 0, 'carol', await place.token(1))
    const pipeline = [parse('', 'INSERT INTO plain VALUES (9)'), bind('', '', []), execute('')]
    const second = [parse('', 'INSERT INTO limits VALUES (7, 1)'), bind('', '', []), execute('')]
    assert.deepEqual(readCodes([await session.send(...pipeline, ...second, SYNC)]), ['42501'])
    for (const text of [
      'INSERT INTO plain SELECT id FROM positions',
      'INSERT INTO plain SELECT CAST(total AS Integer) FROM nested',
      'CREATE TABLE copied REQUIRE (acr = 2) AS SELECT * FROM positions',
      'COPY (SELECT * FROM nested) TO STDOUT',
      'COPY positions TO STDOUT',
      'DECLARE c CURSOR WITH HOLD FOR SELECT id FROM positions; FETCH 1 FROM c',
    ])
      assert.deepEqual(readCodes([await session.query(text)]), ['42501'], text)
    session.close()
    assert.equal(await readIds('plain'), '')
  })

  for (const [name, before] of [
    ['first in a block', []],
    ['after an INSERT', [insert]],
    ['after a COPY', [copy('plain'), OPEN_ROW, DONE]],
  ] as const)
    test(`COPY into CatalogueTable ${name} is refused like one without a block`, async () => {
      const session = await WireSession.open(place.server.wirePort ?? 0, 'carol', await place.token(2))
      const into = query('COPY CatalogueTable (name, columns) FROM STDIN')
      const row = message('d', 'made\t[{"name":"id","type":"Integer"}]\n')
      const [alone] = await send(session, into, row, DONE)
      const answers = await send(session, query('BEGIN'), ...before, into, row, DONE)
      const { C, M } = answers.at(-1)?.errors[0] ?? {}
      assert.deepEqual([C, M], [alone?.errors[0]?.C, alone?.errors[0]?.M])
      assert.deepEqual([C, M], ['0A000', 'COPY cannot write to the system table CatalogueTable'])
      session.close()
      assert.equal(await readIds('plain'), '')
    })
})
