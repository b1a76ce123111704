/** The client of the command line: built in, replaced by a registered one, and switched off by a setting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

async function deviceLogin(server: TestServer): Promise<string> {
  const body = new URLSearchParams({ client_id: 'gatehouse-cli', scope: 'openid offline_access Platform/Admin' })
  const reply = await fetch(`${server.issuer}/connect/deviceauthorization`, { method: 'POST', body })
  const { error = 'started' } = (await reply.json()) as { error?: string }
  return error
}

test('the command line can log in to a new server, until an operator registers its client otherwise', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place)
  t.after(() => server.stop())
  const data = ['--data', place.dataFolder]
  assert.equal(await deviceLogin(server), 'started')

  const shown = await runInProcess(['client', 'show', 'gatehouse-cli', '--json', ...data])
  assert.partialDeepStrictEqual(JSON.parse(shown.stdout), { built_in: true, token_endpoint_auth_method: 'none' })
  const early = await runInProcess(['client', 'remove', 'gatehouse-cli', '--yes', ...data])
  assert.match(early.stderr, /is built in and not registered\. Disable it, .* set cli_client to false/)
  assert.equal((await runInProcess(['client', 'disable', 'gatehouse-cli', '--yes', ...data])).status, 0)
  await until('it is disabled', 5000, async () => (await deviceLogin(server)) === 'invalid_client')
  assert.equal((await runInProcess(['client', 'enable', 'gatehouse-cli', ...data])).status, 0)
  await until('it is enabled', 5000, async () => (await deviceLogin(server)) === 'started')

  const limit = ['client', 'set', 'gatehouse-cli', '--grant', 'password', '--scope', 'openid']
  assert.equal((await runInProcess([...limit, ...data])).status, 0)
  await until('the registered client is used', 5000, async () => (await deviceLogin(server)) === 'unauthorized_client')
  const { items } = JSON.parse((await runInProcess(['client', 'list', '--json', ...data])).stdout) as {
    items: { client_id: string; built_in?: boolean }[]
  }
  const own = items.filter(({ client_id }) => client_id === 'gatehouse-cli')
  assert.deepEqual(
    own.map(({ built_in }) => built_in),
    [undefined],
  )

  // Nobody who removes a client expects one with more rights in its place.
  const refused = await runInProcess(['client', 'remove', 'gatehouse-cli', '--yes', ...data])
  assert.match(refused.stderr, /the built-in client gatehouse-cli would be back.*first set cli_client to false/)
  assert.equal(await deviceLogin(server), 'unauthorized_client')
  const remove = ['client', 'remove', 'gatehouse-cli', '--yes', ...data]
  const { status } = await runGatehouse(remove, { environment: { GATEHOUSE_CLI_CLIENT: 'false' } })
  assert.equal(status, 0)
})

test('cli_client = false leaves it out, and a login says what to do', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place, { flags: { '--cli-client': 'false' } })
  t.after(() => server.stop())
  assert.equal(await deviceLogin(server), 'invalid_client')
  const login = await runInProcess(['login', '--server', server.issuer])
  assert.equal(login.status, 1)
  assert.match(
    login.stderr,
    /The setting cli_client of the server may be false\. To register it.* client add gatehouse-cli/,
  )
})

test('a login with a password that the client may not use names the grant that it needs', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const server = await startTestServer(place)
  t.after(() => server.stop())
  const login = await runInProcess(['login', '--username', 'eve', '--server', server.issuer], { stdin: 'a password\n' })
  assert.match(login.stderr, /unauthorized_client.*\nhint: .*--username needs the password grant.*--grant password/)
})
