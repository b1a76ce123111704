/** The guide for a client with the FAPI 2.0 Security Profile, followed to its end on a demonstration that trades. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALICE } from '../../support/demo-user.ts'
import { IN_LONG_RUNS, openPlace } from '../../support/engines.ts'
import { openGuide } from '../../support/guide.ts'
import { startTestServer } from '../../support/server.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { visit } from '../../support/visitor.ts'

test('A client that meets FAPI 2.0', IN_LONG_RUNS, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const flags = { '--demo': 'true', '--demo-market': 'true', '--signing-algs': 'RS256,PS256' }
  const server = await startTestServer(place, { flags })
  t.after(async () => {
    await server.stop()
    await leave()
  })
  const guide = await openGuide('fapi-client', {
    replace: [['http://localhost:5080', server.issuer]],
    environment: { GATEHOUSE_DATA: place.dataFolder, GATEHOUSE_ISSUER: server.issuer },
  })
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.save('keys.mjs')
  await guide.run('client add bank')
  await guide.save('bank.mjs')
  await guide.save('begin.mjs')
  const printed = await guide.run('node begin.mjs')
  const [, address = ''] = /Open this within a minute: (\S+)/.exec(printed) ?? []
  assert.deepEqual([...new URL(address).searchParams.keys()].sort(), ['client_id', 'request_uri'])

  const agent = createUserAgent({ home: server.issuer })
  const { end } = await visit(agent, await agent.get(address), ALICE)
  assert.ok(end.kind === 'left', 'the browser is sent back')
  await guide.save('finish.mjs')
  const finished = await guide.run('node finish.mjs', { stdin: `${end.url}\n` })
  for (const expected of [
    /token type: dpop/,
    /the same refresh token: true/,
    /query: 200 /,
    /stream: 200 /,
    /without the key: 401/,
  ])
    assert.match(finished, expected)
  assert.match(await guide.run('client remove bank'), /was deleted/)
  guide.finish()
})
