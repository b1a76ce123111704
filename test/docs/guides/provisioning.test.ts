/** The guide for joiners and leavers, followed to its end on a demonstration with SCIM. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { IN_LONG_RUNS, openPlace } from '../../support/engines.ts'
import { openGuide } from '../../support/guide.ts'
import { startTestServer } from '../../support/server.ts'

const skip = spawnSync('curl', ['--version']).status === 0 ? IN_LONG_RUNS.skip : 'needs curl, as its reader does'

test('Joiners and leavers by SCIM', { skip }, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--demo': 'true', '--scim': 'true' } })
  const guide = await openGuide('joiners-and-leavers', {
    replace: [['http://localhost:5080', server.issuer]],
    environment: { GATEHOUSE_DATA: place.dataFolder, GATEHOUSE_SCIM: 'true' },
  })
  t.after(async () => {
    await guide.close()
    await server.stop()
    await leave()
  })
  guide.take('npm start')
  guide.take('export GATEHOUSE_SCIM')
  await guide.run('client add hr-sync')
  await guide.run('scim token hr-sync')
  await guide.save('joiner.json')
  assert.match(await guide.run('joiner.json'), /frida@desk\.example/)
  await guide.run('role set fx-desk')
  assert.match(await guide.run('member.json'), /fx-desk/)
  assert.match(await guide.run('"active"'), /disabled +(true|yes)/)
  assert.match(await guide.run('audit list'), /user\.disabled/)
  assert.match(await guide.run('scim list'), /hr-sync/)
  guide.finish()
})
