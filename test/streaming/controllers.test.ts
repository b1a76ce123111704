/** Custom controllers: the example runs in a gateway, and invalid modules are refused. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadControllers } from '../../packages/server/src/streaming/controllers/load.ts'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const examples = new URL('../../examples/', import.meta.url).pathname

test('the example ticker publishes only to subscribers with Platform/Market', async (t) => {
  process.env.TICKER_INTERVAL_MS = '10'
  const controllers = await loadControllers(join(examples, 'ticker'))
  assert.deepEqual(
    controllers.map(({ name }) => name),
    ['Ticker'],
  )
  const { port, mint } = await startGateway(t, { controllers })
  const trader = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const reader = await connect(port, {
    headers: { Authorization: `Bearer ${await mint.issue({ subject: 'bob', scopes: ['Platform/News'] })}` },
  })
  const symbols = await trader.request({ Controller: 'Ticker', Topic: 'Symbols', TransactionID: 1 })
  assert.deepEqual(symbols.Data, ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO'])
  const subscribe = { Controller: 'Ticker', Topic: 'Price/ACME', Action: 'Sub', Confirm: true }
  assert.equal((await reader.request(subscribe)).Data, 'Authority')
  assert.equal((await reader.next()).Confirm, false)
  assert.equal((await trader.request(subscribe)).Confirm, true)
  for (let count = 0; count < 5; count++) {
    const { Topic, Data } = await trader.next()
    const { Symbol: symbol, Bid, Ask } = Data as { Symbol: string; Bid: number; Ask: number }
    assert.deepEqual([Topic, symbol], ['Price/ACME', 'ACME'])
    assert.ok(Ask > Bid && Bid > 90 && Bid < 110)
  }
  await reader.expectSilence()
  const unknown = await reader.request({ Controller: 'Ticker', Topic: 'Price/NONE', TransactionID: 2 })
  assert.equal(unknown.Data, 'Authority')
  trader.send({ ...subscribe, Action: 'Unsub', TransactionID: 3 })
  while ((await trader.next()).Action !== 'Unsub');
  await trader.expectSilence()
  const missing = await trader.request({ Controller: 'Ticker', Topic: 'Price/NONE', TransactionID: 4 })
  assert.equal(missing.Data, 'Operation.Unknown Price/NONE')
})

test('a module without a valid controller is refused with its path and the reason', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-controllers-'))
  t.after(() => rm(folder, { recursive: true }))
  await assert.rejects(loadControllers(folder), /contains no module/)
  await assert.rejects(loadControllers(join(folder, 'missing')), /no such file or folder/)
  for (const [name, source, reason] of [
    ['empty', '', /must be a controller/],
    ['nameless', 'export default { summary: "", topics: {} }', /name must be a word/],
    ['auth', 'export default { name: "Auth", summary: "", topics: {} }', /reserved for a built-in controller/],
    [
      'bare',
      'export default { name: "X", summary: "", topics: { T: { summary: "", needs: "nothing" } } }',
      /topic T: publish or subscription is required/,
    ],
    [
      'open',
      'export default { name: "X", summary: "", topics: { T: { summary: "", publish() {} } } }',
      /topic T: needs must be/,
    ],
    [
      'vague',
      'export default { name: "X", summary: "", topics: { T: { summary: "", needs: "nothing", subscription: {} } } }',
      /subscription.slow must be latest or close/,
    ],
  ] as const) {
    const file = join(folder, `${name}.mjs`)
    await writeFile(file, source)
    await assert.rejects(
      loadControllers(file),
      (error: Error) => error.message.startsWith(file) && reason.test(error.message),
    )
  }
})

test('two controllers with the same name are refused', async (t) => {
  await assert.rejects(
    startGateway(t, { controllers: [createTestController(), createTestController()] }),
    /Two streaming controllers are named Test/,
  )
})
