/** The samples of remote controllers, in Python with PyJWT and in Go with golang-jwt, answer orders. They need downloads: npm run test:all. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN, openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'

const folder = fileURLToPath(new URL('../../examples/orders', import.meta.url))
const venv = fileURLToPath(new URL('../../node_modules/.cache/examples/orders', import.meta.url))

const PROGRAMS = [
  {
    name: 'Python with PyJWT',
    toolchain: await findToolchain({ version: ['python3', '--version'], atLeast: [3, 9] }),
    prepare: [
      ['python3', '-m', 'venv', venv],
      [`${venv}/bin/pip`, 'install', '--quiet', '--disable-pip-version-check', '-r', `${folder}/requirements.txt`],
    ],
    run: [`${venv}/bin/python`, 'orders.py'],
    value: '10125.0000',
  },
  {
    name: 'Go with golang-jwt',
    toolchain: await findToolchain({ version: ['go', 'version'], atLeast: [1, 24] }),
    prepare: [['go', 'build', '-C', folder, '-o', `${venv}-go`, '.']],
    run: [`${venv}-go`],
    value: '10125',
  },
]

describe('the samples of remote controllers', { skip: !IS_LONG_RUN && 'they need downloads: npm run test:all' }, () => {
  let server: TestServer
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
  })
  after(async () => {
    await server.stop()
    await leave()
  })

  for (const { name, toolchain, prepare, run, value } of PROGRAMS)
    test(`${name} answers orders`, { skip: toolchain.kind === 'missing' && toolchain.reason }, async (t) => {
      for (const command of prepare) {
        const { status, output } = await runCommand(command, { seconds: 300 })
        assert.equal(status, 0, output)
      }
      const port = await freePort()
      const url = `http://localhost:${port}/gatehouse`
      const program = await start(run, { PORT: String(port), GATEHOUSE_SERVER: server.issuer })
      t.after(() => program.kill())
      await declare(url)

      const stream = await connect(server.port, bearer((await signIn(server, ALICE)).access_token))
      const order = (data: string) => `{"Controller":"Orders","Topic":"Place","TransactionID":1,"Data":${data}}`
      const ask = async (message: string | object) => {
        stream.send(message)
        return (await stream.next()).Data
      }
      assert.deepEqual(await ask(order('{"Quantity":100,"Price":101.2500}')), {
        OrderID: 1,
        Status: 'Accepted',
        Value: value,
      })
      const exact = (await ask(order('{"Quantity":3,"Price":1234567890123456789.01}'))) as { Value: string }
      assert.equal(exact.Value, '3703703670370370367.03')
      assert.equal(await ask(order('{"Quantity":0,"Price":1}')), 'Data Quantity must be a positive integer')
      const cancel = { Controller: 'Orders', Topic: 'Cancel', TransactionID: 2, Data: { OrderID: 1 } }
      assert.deepEqual(await ask(cancel), { OrderID: 1, Status: 'Cancelled' })
      assert.equal(await ask(cancel), 'Data There is no such order of yours')
      stream.socket.terminate()

      // An access token of the same user is not a token for this call.
      const forged = await fetch(url, {
        method: 'POST',
        body: order('{"Quantity":1,"Price":1}'),
        ...bearer((await signIn(server, ALICE)).access_token),
      })
      assert.equal(forged.status, 401)
    })

  async function declare(url: string): Promise<void> {
    const { access_token: token } = await signIn(server, ADMIN)
    const needs = 'Platform/Trading'
    const topics = [
      { name: 'Place', needs },
      { name: 'Cancel', needs },
    ]
    const reply = await fetch(`${server.issuer}/admin/controllers/Orders`, {
      method: 'PUT',
      headers: { ...bearer(token).headers, 'content-type': 'application/json' },
      body: JSON.stringify({ url, topics }),
    })
    assert.ok(reply.ok, await reply.text())
  }
})

/** Resolves once the program says that it answers. */
async function start([program = '', ...args]: readonly string[], environment: object): Promise<ChildProcess> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(() => assert.fail(`${program} ended`))
  await Promise.race([once(child.stdout, 'data'), ended])
  ended.catch(() => {})
  return child
}
