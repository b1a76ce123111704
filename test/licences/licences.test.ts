/** What a caller may use: /licences, agreements, trials, and the administration of products. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createTestClock } from '../support/server.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const DAY = 86_400_000
const TEXT = 'You shall not pass it on.\n'
const DECLARED = `
attributes: [{ name: firm, type: Text, many: true }]
agreements:
  - { id: nyse-subscriber, version: "2026-01", title: NYSE subscriber agreement, text: { en: { file: nyse.en.md }, de: "Nicht weitergeben." }, asks_status: true, grace: 14 days }
products:
  - { name: NYSE.L1, delay: 15 minutes, default: delayed, agreement: nyse-subscriber, covers: [{ resource: instrument, ids: ["*.N"] }] }
  - { name: LSE.L2, trial: 30 days }
  - { name: FIRM.ONLY, delay: 1 minute }
entitlements:
  - { product: NYSE.L1, role: trader, access: realtime, from: 2026-01-01 }
  - { product: FIRM.ONLY, attribute: { firm: ACME }, access: delayed }
  - { product: FIRM.ONLY, client: robot, access: realtime, kind: exempt, note: internal system }
`

onEveryEngine('licences', (place) => {
  let server: LicenceServer
  const clock = createTestClock()
  before(async () => {
    server = await startLicenceServer(place(), DECLARED, { clock }, { 'nyse.en.md': TEXT })
  })
  after(() => server.stop())
  const admin = (method: string, path: string, body?: unknown, headers = {}) =>
    server.send(method, `/admin${path}`, { token: server.admin, body, headers })
  const patch = (path: string, body: unknown) => admin('PATCH', path, body, { 'if-match': '*' })
  const events = async (name: string) => {
    const { body } = await admin('GET', `/audit?event=${name}`)
    return body.items
  }

  test('GET /licences has each product with its access and reason; an agreement opens what a role gives', async () => {
    const before = await server.licence('NYSE.L1')
    const { Url } = before.Agreement
    assert.deepEqual(before, {
      Product: 'NYSE.L1',
      Access: 'delayed',
      Delay: 900,
      Reason: 'agreement',
      Agreement: {
        Id: 'nyse-subscriber',
        Version: '2026-01',
        Title: 'NYSE subscriber agreement',
        Url,
        AsksStatus: true,
        Accepted: false,
      },
    })
    assert.match(Url, /\/licences\/agreements\/nyse-subscriber$/)
    const read = await server.send('GET', '/licences/agreements/nyse-subscriber', {
      headers: { 'accept-language': 'fr, en' },
    })
    assert.deepEqual([read.body.Text, read.body.Language], [TEXT.trimEnd(), 'en'])
    const accept = (body: unknown) => server.send('POST', '/licences/agreements/nyse-subscriber', { body })
    assert.equal((await accept({ Version: '2026-01' })).status, 422)
    assert.equal((await accept({ Version: '2025-01', Professional: false })).status, 409)
    const accepted = await accept({ Version: '2026-01', Professional: false, Language: 'en' })
    assert.equal(accepted.status, 201)
    assert.equal(accepted.body.Digest, createHash('sha256').update(TEXT.trimEnd()).digest('hex'))
    const now = await server.licence('NYSE.L1')
    assert.deepEqual([now.Access, now.Reason, now.Agreement.Accepted], ['realtime', 'role', true])
    const [event] = await events('agreement.accepted')
    assert.deepEqual(
      [event.target, event.details.version, event.details.digest],
      ['nyse-subscriber', '2026-01', accepted.body.Digest],
    )
    assert.equal((await events('licence.status'))[0].details.professional, false)
  })

  test('a new version asks again, and the old one counts for the grace', async () => {
    await patch('/agreements/nyse-subscriber', { version: '2027-01' })
    const graced = await server.licence('NYSE.L1')
    assert.equal(graced.Access, 'realtime')
    assert.equal(graced.Agreement.Accepted, false)
    assert.equal(graced.Agreement.Grace, new Date(clock() + 14 * DAY).toISOString())
    await patch('/agreements/nyse-subscriber', { grace: null })
    assert.equal((await server.licence('NYSE.L1')).Access, 'delayed')
    const paper = { user: 'alice', version: '2027-01', note: 'cabinet 4' }
    assert.equal(
      (await admin('POST', '/agreements/nyse-subscriber/acceptances', { ...paper, version: '1' })).status,
      409,
    )
    assert.equal((await admin('POST', '/agreements/nyse-subscriber/acceptances', paper)).status, 201)
    assert.equal((await server.licence('NYSE.L1')).Access, 'realtime')
  })

  test('a trial is given once for user and product, ever, and not to whom an operator has denied it', async () => {
    assert.equal((await server.licence('LSE.L2')).Reason, 'none')
    const denied = { product: 'LSE.L2', user: 'alice', access: 'none' }
    assert.equal((await admin('POST', '/entitlements', denied)).status, 201)
    assert.equal((await server.send('POST', '/licences/LSE.L2/trial')).status, 409)
    assert.equal((await admin('DELETE', '/entitlements/LSE.L2:user:alice')).status, 204)
    const begun = await server.send('POST', '/licences/LSE.L2/trial')
    assert.equal(begun.status, 201)
    assert.equal(begun.body.Until, new Date(clock() + 30 * DAY).toISOString())
    assert.equal((await server.licence('LSE.L2')).Access, 'realtime')
    assert.equal((await server.send('POST', '/licences/LSE.L2/trial')).status, 409)
    assert.equal((await server.send('POST', '/licences/LSE.L2/trial', { token: server.robot })).status, 403)
    assert.equal((await server.send('POST', '/licences/NYSE.L1/trial')).status, 409)
    assert.equal((await events('licence.trial')).length, 1)
    clock.advance(30 * DAY)
    const { access_token: token } = await signIn(server)
    assert.equal((await server.licence('LSE.L2', token)).Reason, 'expired')
    assert.match((await server.send('POST', '/licences/LSE.L2/trial', { token })).body.detail, /have had a trial/)
    clock.advance(-30 * DAY)
  })

  test('current roles and attributes count, and what the token says does not', async () => {
    assert.equal((await server.licence('FIRM.ONLY')).Access, 'none')
    await patch('/users/alice', { attributes: { firm: ['ACME', 'Other'] } })
    assert.deepEqual(await server.licence('FIRM.ONLY'), {
      Product: 'FIRM.ONLY',
      Access: 'delayed',
      Delay: 60,
      Reason: 'attribute',
    })
    await admin('POST', '/roles', { name: 'late desk' })
    assert.equal(
      (await admin('POST', '/entitlements', { product: 'LSE.L2', role: 'late desk', access: 'realtime' })).status,
      201,
    )
    await patch('/users/admin', { roles: ['admin', 'late desk'] })
    assert.equal((await server.licence('LSE.L2', server.admin)).Reason, 'role')
    await patch('/users/admin', { roles: ['admin'] })
    assert.equal((await server.licence('LSE.L2', server.admin)).Access, 'none')
    await admin('DELETE', '/entitlements/LSE.L2:role:late%2520desk')
  })

  test('a token without a user has what its client has', async () => {
    assert.equal((await server.licence('FIRM.ONLY', server.robot)).Access, 'realtime')
    assert.equal((await server.licence('FIRM.ONLY', server.handler)).Access, 'none')
    const { access_token: token } = await signIn(server, ADMIN)
    assert.equal((await server.licence('FIRM.ONLY', token)).Access, 'none')
  })

  test('the kill switch takes all access away at once', async () => {
    await patch('/products/NYSE.L1', { enabled: false })
    assert.equal((await server.licence('NYSE.L1')).Reason, 'disabled')
    await patch('/products/NYSE.L1', { enabled: null })
    assert.equal((await server.licence('NYSE.L1')).Access, 'realtime')
  })

  test('what an operator says of a professional stands', async () => {
    const status = async () => {
      const { body } = await admin('GET', '/products/NYSE.L1/subjects')
      return body.items.find(({ username }: { username: string }) => username === 'alice').status
    }
    assert.equal(await status(), 'non_professional')
    assert.equal((await admin('PUT', '/users/alice/professional', { professional: true })).status, 204)
    const body = { Version: '2027-01', Professional: false }
    assert.equal((await server.send('POST', '/licences/agreements/nyse-subscriber', { body })).status, 201)
    assert.equal(await status(), 'professional')
    await admin('PUT', '/users/alice/professional', { professional: null })
    assert.equal(await status(), 'undeclared')
  })

  test('administration refuses what cannot hold, and names the path', async () => {
    const faults = async (path: string, body: unknown) =>
      (await admin('POST', path, body)).body.Faults?.map((fault: { path: string }) => fault.path)
    assert.deepEqual(await faults('/products', { name: 'X', default: 'delayed' }), ['default'])
    assert.deepEqual(await faults('/products', { name: 'X', delay: '25 hours' }), ['delay'])
    assert.deepEqual(await faults('/products', { name: 'X', agreement: 'nothing' }), ['agreement'])
    assert.deepEqual(await faults('/products', { name: 'X', covers: [{ resource: 'table' }] }), ['covers[0].resource'])
    const given = { product: 'LSE.L2', role: 'trader', access: 'realtime' }
    assert.deepEqual(await faults('/entitlements', { ...given, access: 'delayed' }), ['access'])
    assert.deepEqual(await faults('/entitlements', { ...given, user: 'alice' }), [''])
    assert.deepEqual(await faults('/entitlements', { ...given, product: 'X' }), ['product'])
    assert.deepEqual(await faults('/entitlements', { ...given, role: 'nobody' }), ['role'])
    assert.deepEqual(await faults('/entitlements', { ...given, from: '2026-02-31T00:00:00+99:00' }), ['from'])
    assert.deepEqual(await faults('/entitlements', { ...given, from: '2026-02-01', until: '2026-02-01' }), ['until'])
    assert.equal(
      (await admin('POST', '/entitlements', { product: 'LSE.L2', user: 'nobody', access: 'realtime' })).status,
      409,
    )
    assert.equal(
      (await admin('POST', '/entitlements', { ...given, product: 'NYSE.L1', from: '2026-01-01T00:00:00Z' })).status,
      409,
    )
    assert.equal((await admin('DELETE', '/agreements/nyse-subscriber')).status, 409)
    assert.equal((await admin('DELETE', '/roles/trader')).status, 409)
    assert.equal((await admin('DELETE', '/attributes/firm')).status, 409)
  })

  test('coverage names one kind, with its members; others are refused', async () => {
    const faults = async (cover: object) => {
      const { status, body } = await admin('POST', '/products', { name: 'X', covers: [cover] })
      assert.equal(status, 422, JSON.stringify(cover))
      return body.Faults.map(({ path }: { path: string }) => path.replace('covers[0]', ''))
    }
    assert.deepEqual(await faults({}), [''])
    assert.deepEqual(await faults({ feed: 'Prices', table: 'trades' }), [''])
    assert.deepEqual(await faults({ resource: 'instrument', topics: ['A'] }), ['.topics'])
    assert.deepEqual(await faults({ controller: 'Auth' }), ['.controller'])
    assert.deepEqual(await faults({ feed: 'Prices', topics: ['A/B', '*', 'A/*', 'A*', 'A', 'A'] }), [
      '.topics[3]',
      '.topics[5]',
    ])
    assert.deepEqual(await faults({ table: 'later', column: 'venue' }), ['.values'])
    assert.deepEqual(await faults({ table: 'later', column: 'venue', values: ['A', 7, 'A'] }), ['.values[2]'])
  })

  test('nothing becomes free by accident', async () => {
    const covers = [{ feed: 'Gone' }, { controller: 'Depth' }]
    assert.equal((await admin('POST', '/products', { name: 'ALONE', covers })).status, 201)
    assert.equal((await admin('POST', '/products', { name: 'TOO', covers: [{ controller: 'Depth' }] })).status, 201)
    const refused = await patch('/products/ALONE', { covers: [] })
    assert.equal(refused.status, 409)
    assert.match(JSON.stringify(refused.body), /the feed Gone would be free/)
    assert.doesNotMatch(JSON.stringify(refused.body), /Depth/)
    assert.equal((await admin('DELETE', '/products/ALONE')).status, 409)
    assert.equal((await patch('/products/ALONE', { covers: [{ feed: 'Gone', topics: ['A'] }] })).status, 200)
    assert.equal((await patch('/products/ALONE?free=true', { covers: [] })).status, 200)
    assert.equal((await admin('DELETE', '/products/ALONE')).status, 204)
    assert.equal((await patch('/products/TOO', { free: true })).status, 200)
    assert.equal((await admin('DELETE', '/products/TOO')).status, 204)
  })

  test('entitlements have ids, pages and filters, and keep them when a user is renamed', async () => {
    const key = 'NYSE.L1:user:alice:2026-05-01'
    const body = { product: 'NYSE.L1', user: 'Alice', access: 'realtime', from: '2026-05-01' }
    const made = await admin('POST', '/entitlements', body)
    assert.equal(made.body.id, key)
    await patch('/users/alice', { username: 'alicia' })
    assert.equal((await admin('GET', `/entitlements/${key}`)).body.user, 'alicia')
    const changed = await patch(`/entitlements/${key}`, { until: '2036-05-01' })
    assert.deepEqual([changed.status, changed.body.id, changed.body.until], [200, key, '2036-05-01'])
    assert.equal((await patch(`/entitlements/${key}`, { user: 'admin' })).status, 409)
    const ofUser = await admin('GET', '/entitlements?user=alicia')
    assert.deepEqual(
      ofUser.body.items.map(({ id }: { id: string }) => id),
      [key],
    )
    const first = await admin('GET', '/entitlements?product=NYSE.L1&limit=1')
    assert.equal(first.body.items.length, 1)
    assert.equal((await server.send('GET', first.body.next, { token: server.admin })).body.items[0].id, key)
    await patch('/users/alicia', { username: 'alice' })
    const rights = await admin('GET', '/users/alice/rights')
    assert.equal(rights.body.licences.length, 3)
    await admin('DELETE', `/entitlements/${key}`)
  })

  test('an exported file has them, and changes nothing when it is applied', async () => {
    const { declaration: exported } = (await admin('GET', '/declaration')).body
    assert.deepEqual(exported.entitlements, [
      { product: 'FIRM.ONLY', attribute: { firm: 'ACME' }, access: 'delayed' },
      { product: 'FIRM.ONLY', client: 'robot', access: 'realtime', kind: 'exempt', note: 'internal system' },
      { product: 'NYSE.L1', role: 'trader', access: 'realtime', from: '2026-01-01' },
    ])
    assert.equal(exported.products.length, 3)
    assert.equal(exported.agreements[0].text.en, TEXT.trimEnd())
  })

  test('with a product go its entitlements, with a user theirs', async () => {
    await admin('POST', '/products', { name: 'GONE' })
    await admin('POST', '/users', { username: 'temp', password: 'a password of some length' })
    await admin('POST', '/entitlements', { product: 'GONE', user: 'temp', access: 'realtime' })
    await admin('POST', '/entitlements', { product: 'LSE.L2', user: 'temp', access: 'realtime' })
    await admin('DELETE', '/products/GONE')
    assert.equal((await admin('GET', '/entitlements/GONE:user:temp')).status, 404)
    await admin('DELETE', '/users/temp')
    assert.equal((await admin('GET', '/entitlements/LSE.L2:user:temp')).status, 404)
  })
})
