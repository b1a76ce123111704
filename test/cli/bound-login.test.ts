/** The command line with a client that is registered for DPoP: it keeps a key, and every command proves that it has it. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'
import { openPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const home = mkdtempSync(join(tmpdir(), 'gatehouse-bound-'))
const key = join(home, 'gatehouse', 'dpop-key.json')
const passwordFile = join(home, 'password')
let opened: Awaited<ReturnType<typeof openPlace>>
let server: TestServer

before(async () => {
  opened = await openPlace('sqlite')
  server = await startTestServer(opened.place, { flags: { '--demo': 'true', '--stream-drain-time': '0' } })
  const database = await openDatabase({ dataFolder: opened.place.dataFolder, url: '' })
  await createStores(database, Date.now).clients.put({
    client_id: 'bound-cli',
    token_endpoint_auth_method: 'none',
    grant_types: ['password', 'refresh_token'],
    scope: 'openid profile offline_access Platform/Market',
    dpop_bound_access_tokens: true,
  })
  await database.close()
  writeFileSync(passwordFile, 'wonderland-1\n')
})
after(async () => {
  await server.stop()
  await opened.leave()
  rmSync(home, { recursive: true, force: true })
})

const run = async (args: readonly string[], stdin = ''): Promise<string> => {
  const environment = { XDG_CONFIG_HOME: home, GATEHOUSE_SERVER: server.issuer }
  const { status, stdout, stderr } = await runInProcess(args, { environment, stdin })
  assert.equal(status, 0, stderr)
  return stdout
}

test('a login keeps the key in a file of its owner; queries and streams use it', async () => {
  await run(['login', '--client', 'bound-cli', '--username', 'alice', '--password-file', passwordFile])
  assert.equal(statSync(key).mode & 0o777, 0o600)
  const { d } = JSON.parse(readFileSync(key, 'utf8'))
  assert.ok(d)
  assert.match(await run(['query', 'select symbol from instruments order by symbol limit 1']), /\w+/)
  assert.match(await run(['whoami']), /alice/i)
  const shown = await run(['stream'], '{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":7}\n')
  assert.match(shown, /"Success"/)
  await run(['logout'])
})
