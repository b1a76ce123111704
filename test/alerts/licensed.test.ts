/** Alerts over covered tables: they see what their owner has a licence for at that moment, as old as it is licensed. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startLicenceServer } from '../licences/licence-server.ts'
import { fill, insert, PRODUCTS, type TablePlace, tablePlace } from '../licences/tables/table-licences.ts'
import { ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

const DELAY_MS = 2_000
const DECLARED = PRODUCTS.replace(
  '\nentitlements:',
  `
  - { name: LATE, delay: ${DELAY_MS / 1_000} seconds, covers: [{ table: late }] }
  - { name: PART, delay: ${DELAY_MS / 1_000} seconds, covers: [{ table: mixed, column: venue, values: [X] }] }
  - { name: LIVE, covers: [{ table: mixed, column: venue, values: [Y] }] }
entitlements:
  - { product: LATE, user: alice, access: delayed }
  - { product: LATE, client: handler, access: realtime, kind: exempt }
  - { product: PART, user: alice, access: delayed }
  - { product: PART, client: handler, access: realtime, kind: exempt }
  - { product: LIVE, user: alice, access: realtime }
  - { product: LIVE, client: handler, access: realtime, kind: exempt }`,
)

onEveryEngineInLongRuns('alerts over covered tables', (at) => {
  let place: TablePlace
  let receiver: WebhookReceiver
  let alice: AlertClient
  let admin: AlertClient
  before(async () => {
    receiver = await startReceiver()
    place = tablePlace(await startLicenceServer(at(), DECLARED))
    alice = await AlertClient.signIn(place.server, ALICE)
    admin = await AlertClient.signIn(place.server)
    await fill(place)
    for (const table of ['late', 'mixed'])
      await admin.query(
        `CREATE TABLE ${table} (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer NOT NULL, note Text) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`,
      )
    await admin.declareChannel('hook', `${receiver.origin}/hook`)
  })
  after(async () => {
    await place.server.stop()
    await receiver.stop()
  })
  const sent = (id: string): readonly string[] =>
    receiver.received
      .filter(({ body }) => body.data.alert === id)
      .flatMap(({ body }) =>
        body.data.instances.map(({ key, state }: { key: unknown; state: string }) => `${key} ${state}`),
      )
  const alert = (name: string, table: string, members: object = {}) => ({
    ...{ name, statement: `SELECT id, venue, price FROM ${table}`, when: 'price > 0' },
    ...{ group: '0 seconds', channels: ['hook'], ...members },
  })

  test('without a licence it is suspended from the start', async () => {
    const { id } = await alice.create(alert('Secret', 'secrets'))
    await until('it is suspended', 5_000, async () => (await alice.get(id)).state === 'suspended')
    assert.match((await alice.get(id)).error, /There is no access/)
    await alice.call('DELETE', `/alerts/${id}`)
  })

  test('it fires for the rows that are licensed; a licence that ends takes the others away without a word', async () => {
    const { id } = await alice.create(alert('Ticks', 'ticks'))
    await until('it fires', 5_000, () => sent(id).length === 2)
    assert.deepEqual(sent(id).toSorted(), ['1 firing', '2 firing'])
    receiver.answer((_request, response) => response.writeHead(503).end())
    await insert(place, 'ticks', 20, 'XNYS', 5)
    await until('a delivery waits', 5_000, async () => {
      const { items } = await alice.call('GET', `/alerts/${id}/deliveries`)
      return items[0].state === 'waiting' && items[0].attempts >= 1
    })
    await place.patch('/products/NYSE', { enabled: false })
    await until('it is suspended', 5_000, async () => (await alice.get(id)).state === 'suspended')
    await until('what waited is dropped', 5_000, async () => {
      const { items } = await alice.call('GET', `/alerts/${id}/deliveries`)
      return items[0].state === 'dropped'
    })
    assert.match((await alice.get(id)).error, /There is no access/)
    receiver.received.length = 0
    receiver.answer((_request, response) => response.writeHead(204).end())
    await place.patch('/products/NYSE', { enabled: true })
    await insert(place, 'ticks', 21, 'XNYS', 5)
    await until('it goes on', 10_000, () => sent(id).includes('21 firing'))
    assert.deepEqual(
      sent(id).filter((each) => each.endsWith('resolved')),
      [],
    )
    await alice.call('DELETE', `/alerts/${id}`)
  })

  test('with a delay it fires no sooner than the row may be seen', async () => {
    const delayed = () => place.query('SELECT id FROM late')
    await until('the copy is there', 5_000, async () => (await delayed()).status === 200)
    const { id } = await alice.create(alert('Late', 'late'))
    const inserted = Date.now()
    await insert(place, 'late', 1, 'X', 5)
    await until('it fires', DELAY_MS + 8_000, () => sent(id).length === 1)
    const arrived = receiver.received.find(({ body }) => body.data.alert === id)?.at ?? 0
    assert.ok(arrived >= inserted + DELAY_MS, `${arrived - inserted} ms after the row`)
    await alice.call('DELETE', `/alerts/${id}`)
  })

  test('a restart does not take delayed rows, which are known a moment later, for gone', async () => {
    // Rows of two accesses have a key only if they are grouped.
    const statement = 'SELECT id, max(price) AS price FROM mixed GROUP BY id'
    const { id } = await alice.create(alert('Mixed', 'mixed', { statement }))
    await insert(place, 'mixed', 1, 'Y', 5)
    await insert(place, 'mixed', 2, 'X', 5)
    await until('both fire', DELAY_MS + 15_000, () => sent(id).length === 2)
    assert.deepEqual(sent(id), ['1 firing', '2 firing'])
    await place.server.stop()
    receiver.received.length = 0
    place = tablePlace(await startLicenceServer(at(), DECLARED))
    alice = await AlertClient.signIn(place.server, ALICE)
    admin = await AlertClient.signIn(place.server)
    await insert(place, 'mixed', 3, 'Y', 5)
    await insert(place, 'mixed', 4, 'X', 5)
    await until('both new ones fire', DELAY_MS + 15_000, () => sent(id).includes('4 firing'))
    assert.deepEqual(sent(id), ['3 firing', '4 firing'])
    await alice.call('DELETE', `/alerts/${id}`)
  })

  test('all alerts of an owner are one place of a product', async () => {
    const given = { product: 'WHOLE', user: 'alice', access: 'realtime', from: '2020-01-01' }
    assert.equal((await place.admin('POST', '/entitlements', given)).status, 201)
    // One is that of the sign-in that makes them, for a minute.
    await place.patch('/products/WHOLE', { simultaneous: 2 })
    const ids: string[] = []
    for (const name of ['One', 'Two', 'Three']) ids.push((await alice.create(alert(name, 'secrets'))).id)
    await until('all fire', 10_000, () => ids.every((id) => sent(id).length === 1))
    for (const id of ids) await alice.call('DELETE', `/alerts/${id}`)
  })
})
