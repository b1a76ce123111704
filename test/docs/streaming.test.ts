/** The example program on the streaming page works. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { post, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer } from '../support/server.ts'

test('the example signs in, subscribes, shows messages, and does not reconnect after its grant is revoked', async (t) => {
  const page = await readFile(new URL('../../docs/streaming.md', import.meta.url), 'utf8')
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--demo': 'true', '--stream-drain-time': '0.1' } })
  t.after(async () => {
    await server.stop()
    await leave()
  })
  const { access_token: token, refresh_token: refreshToken } = await signIn(server)
  const here = program.replace('wss://gate.example.com', `ws://127.0.0.1:${server.port}`)
  assert.notEqual(here, program)
  const run = new Function('token', 'show', 'comeBackLater', 'askToSignIn', here)
  const ended = new Promise((resolve) => {
    const show = (topic: string, data: unknown) => {
      assert.deepEqual([topic, data], ['Feeds', []])
      post(server, '/connect/revocation', { client_id: 'demo-cli', token: refreshToken })
    }
    run(
      token,
      show,
      () => resolve('reconnects'),
      () => resolve('asks to sign in'),
    )
  })
  assert.equal(await ended, 'asks to sign in')
})
