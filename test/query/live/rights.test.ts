/** Rights of live statements while rows, roles and row filters change: no user is sent a row of another user, or learns of one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Principal } from 'gatehouse-protocol'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { until } from '../../support/until.ts'
import { Choice } from '../agree/choice.ts'
import { CALLERS, caller, type QueryServer, startQueryServer } from '../query-server.ts'
import { type Held, ModelClient, openEvents, readText, type Transport } from './model-client.ts'

const OWN = "owner = :username OR 'auditor' IN (:role)"
const OWN_AND_LARGE = "(owner = :username OR 'auditor' IN (:role)) AND n > 2"

/** Keeps all messages. */
class Reader extends ModelClient {
  readonly texts: string[] = []

  override receive(text: string): void {
    this.texts.push(text)
    super.receive(text)
  }
}

onEveryEngineInLongRuns('rights of live statements', (place) => {
  const bus = createLocalBus()
  const people = new Map<string, Principal>()
  const opened: Transport[] = []
  let server: QueryServer
  let port: number
  before(async () => {
    for (const name of ['alice', 'bob', 'carol']) people.set(name, caller(name, ['Platform/Market'], []))
    server = await startQueryServer(place(), {
      bus,
      authenticate: async (token) => people.get(token) ?? CALLERS[token],
    })
    port = Number(new URL(server.url).port)
    await run(
      "CREATE TABLE orders (id Integer PRIMARY KEY, owner Text NOT NULL, kind Text, n Integer, body Text) READ SCOPE 'Platform/Market'",
      `INSERT INTO orders VALUES (0, 'alice', 'x', 5, 'of alice'), (1, 'bob', 'x', 5, 'of bob'), (2, 'bob', 'y', 1, 'of bob')`,
      `ALTER TABLE orders SET ROW FILTER (${OWN})`,
    )
    people.set('root', { ...caller('root', ['Platform/Admin', 'Platform/Market'], ['auditor']) })
  })
  after(async () => {
    for (const transport of opened) transport.close()
    await server.stop()
    await bus.close()
  })

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement, { as: people.has('root') ? 'root' : 'admin' })
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const follow = async (token: string, text: string, parameters = {}, resume?: Held): Promise<Reader> => {
    const statement = { text, parameters, user: 'alice', tables: [], method: 'keys', isOrdered: false } as const
    const client = new Reader(statement, 50, () => {})
    const transport = openEvents({ port, token })
    opened.push(transport)
    await transport.subscribe(client, resume)
    await until('the first state', 20_000, () => client.applier.isWhole && client.texts.length > 0)
    return client
  }
  const holdsItsResult = async (token: string, client: Reader): Promise<void> => {
    const body = { Statement: client.statement.text, Parameters: client.statement.parameters }
    const reply = await server.call('/query', body, { as: token })
    const wanted = readText(reply.json.Rows, false)
    await until(`${token} holds ${wanted}`, 20_000, () => client.applier.isWhole && client.text === wanted)
    assert.equal(client.failure, undefined, String(client.failure))
  }

  test('owners, roles and filters change at random: others see nothing of it, and all users keep their own rows', async () => {
    const choice = new Choice(Date.now() % 2 ** 31)
    const all = 'SELECT id, body FROM orders'
    const bob = [
      await follow('bob', all),
      await follow('bob', 'SELECT id, body FROM orders WHERE kind = :k', { k: 'x' }),
      await follow('bob', 'SELECT count(*) AS c, max(body) AS b FROM orders'),
    ]
    const alice = [
      await follow('alice', all),
      await follow('alice', 'SELECT body FROM orders WHERE kind = :k', { k: 'x' }),
    ]
    /** The ids that were ever of bob. */
    const ofBob = new Set([1, 2])
    for (let step = 0; step < 60; step++) {
      const id = choice.below(12)
      const owner = choice.of(['alice', 'bob', 'carol'])
      const [kind, n] = [choice.of(['x', 'y']), choice.below(6)]
      const what = choice.below(8)
      if (what === 0) {
        people.set('alice', caller('alice', ['Platform/Market'], choice.oneIn(2) ? ['auditor'] : []))
        await bus.publish({ kind: 'rights-changed', subject: 'alice', scopes: [], roles: [], at: 0, expiresAt: 0 })
      } else if (what === 1) await run(`ALTER TABLE orders SET ROW FILTER (${choice.of([OWN, OWN_AND_LARGE])})`)
      else if (what < 4) await server.query(`DELETE FROM orders WHERE id = ${id}`, { as: 'root' })
      else {
        if (owner === 'bob') ofBob.add(id)
        // A row that the filter hides is not replaced.
        await server.query(
          `INSERT INTO orders VALUES (${id}, '${owner}', '${kind}', ${n}, 'of ${owner}')
           ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, kind = excluded.kind, n = excluded.n, body = excluded.body`,
          { as: 'root' },
        )
      }
    }
    for (const client of bob) await holdsItsResult('bob', client)
    for (const client of alice) await holdsItsResult('alice', client)
    for (const { texts } of bob) {
      for (const text of texts) {
        assert.doesNotMatch(text, /of (alice|carol)/)
        const { Put = [], Remove = [] } = JSON.parse(text)
        const keys: unknown[][] = [...Put.map(({ Key }: { Key: unknown[] }) => Key), ...Remove]
        for (const [id] of keys) assert.ok(id === undefined || ofBob.has(Number(id)), text)
      }
    }
    people.set('alice', caller('alice', ['Platform/Market'], []))
    await bus.publish({ kind: 'rights-changed', subject: 'alice', scopes: [], roles: [], at: 0, expiresAt: 0 })
    for (const client of alice) await holdsItsResult('alice', client)
  })

  test('rights that change back and forth before the rows of the first change have been read', async () => {
    const choice = new Choice(Date.now() % 2 ** 31)
    const alice = await follow('alice', 'SELECT count(*) AS c, max(id) AS m FROM orders')
    for (let round = 0; round < 10; round++) {
      for (let change = 0; change < 5; change++) {
        people.set('alice', caller('alice', ['Platform/Market'], change % 2 === 0 ? ['auditor'] : []))
        await bus.publish({ kind: 'rights-changed', subject: 'alice', scopes: [], roles: [], at: 0, expiresAt: 0 })
        await new Promise((resolve) => setTimeout(resolve, choice.below(4)))
      }
      await run(`INSERT INTO orders VALUES (${100 + round}, 'alice', 'x', 5, 'of alice')`)
      await holdsItsResult('alice', alice)
    }
  })

  test('two users with different rows share nothing, and cannot continue where the other was', async () => {
    await run(`ALTER TABLE orders SET ROW FILTER (${OWN})`, 'DELETE FROM orders ALL')
    await run("INSERT INTO orders VALUES (1, 'alice', 'x', 5, 'of alice'), (2, 'bob', 'x', 5, 'of bob')")
    const text = 'SELECT body FROM orders WHERE kind = :k'
    const [alice, bob] = [await follow('alice', text, { k: 'x' }), await follow('bob', text, { k: 'x' })]
    const held = bob.kept.at(-1)
    assert.ok(held !== undefined)
    await run("UPDATE orders SET owner = 'alice', body = 'now of alice' WHERE id = 2")
    await holdsItsResult('alice', alice)
    await holdsItsResult('bob', bob)
    assert.deepEqual(JSON.parse(bob.texts.at(-1) ?? '').Remove, [[2]])
    assert.doesNotMatch(bob.texts.join(), /of alice/)
    const position = (await follow('carol', text, { k: 'x' }, held)).texts
    assert.deepEqual(JSON.parse(position[0] ?? ''), { Kind: 'Reset', Reason: 'Expired' })
    assert.deepEqual(JSON.parse(position[1] ?? '').Put, [])
    const own = await follow('bob', text, { k: 'x' }, held)
    assert.deepEqual([own.applier.recovered, own.applier.size], [true, 0])
  })

  test('removing a read scope ends the statements of callers who lack it, and no others', async () => {
    const [alice, root] = [
      await follow('alice', 'SELECT id FROM orders'),
      await follow('root', 'SELECT id FROM orders'),
    ]
    await run("ALTER TABLE orders SET READ SCOPE 'Platform/Admin'")
    await until('it ends', 20_000, () => alice.ended !== undefined)
    assert.equal(JSON.parse(alice.ended ?? '').Code, 'Auth.MissingScope')
    const { length } = alice.texts
    await run("INSERT INTO orders VALUES (50, 'alice', 'x', 5, 'of alice')")
    await holdsItsResult('root', root)
    assert.equal(root.ended, undefined)
    assert.equal(alice.texts.length, length)
  })
})
