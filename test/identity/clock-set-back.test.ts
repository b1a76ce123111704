/** A clock that was set back is named in the log, because tokens from before, or cut off before, are refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'

const DAY_MS = 86_400_000

onEveryEngine('with the clock a day back', (place) => {
  test('a refused token from before is a warning in the log, once a minute; so is a start', async () => {
    const clock = createTestClock()
    let server = await startTestServer(place(), { clock, flags: { '--demo': 'true' } })
    try {
      assert.deepEqual(warnings(server), [])
      const { access_token } = await signIn(server, ADMIN)
      clock.advance(-DAY_MS)
      for (let attempt = 0; attempt < 3; attempt++) {
        const { status } = await fetch(`${server.issuer}/connect/userinfo`, {
          headers: { authorization: `Bearer ${access_token}` },
        })
        assert.equal(status, 401)
      }
      assert.deepEqual(warnings(server), ['a token from the future was refused'])
    } finally {
      await server.stop()
    }
    server = await startTestServer(place(), { clock, flags: { '--demo': 'true' } })
    await server.stop()
    assert.deepEqual(warnings(server), ['the clock has gone back'])
  })
})

function warnings({ log }: TestServer): string[] {
  return log.flatMap(
    (line) => /the clock has gone back(?=: tokens)|a token from the future was refused/.exec(line) ?? [],
  )
}
