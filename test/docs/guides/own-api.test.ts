/** The guide for a declared API, followed to its end on a demonstration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_LONG_RUNS, openPlace } from '../../support/engines.ts'
import { freePort } from '../../support/free-port.ts'
import { openGuide } from '../../support/guide.ts'
import { startTestServer } from '../../support/server.ts'

test('Protect an API of your own', IN_LONG_RUNS, async (t) => {
  const other = await freePort()
  const { place, leave: leaveGuide } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  t.after(async () => {
    await server.stop()
    await leaveGuide()
  })
  const guide = await openGuide('protect-an-api', {
    replace: [
      ['http://localhost:5080', server.issuer],
      ['http://localhost:5095', `http://localhost:${other}`],
    ],
    copy: 'examples/api',
    environment: { GATEHOUSE_DATA: place.dataFolder, PORT: String(other) },
  })
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.save('orders.yaml')
  await guide.run('api list')
  await guide.start('examples/api', /Orders at/)
  guide.take('jwtVerify')
  await guide.save('call.mjs')
  const printed = await guide.run('node call.mjs')
  assert.deepEqual(printed.match(/: \d{3}/g), [': 401', ': 201', ': 401', ': 401'], printed)
  guide.take('grant_type=refresh_token')
  assert.match(await guide.run('api remove'), /The API .* was removed/)
  guide.finish()
})
