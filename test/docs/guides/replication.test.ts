/** The guide to a machine that is lost, followed with a folder in place of a bucket. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readStatus } from '../../../packages/server/src/replication/spool/status.ts'
import { freePort } from '../../support/free-port.ts'
import { openGuide } from '../../support/guide.ts'
import { until } from '../../support/until.ts'

test('lose the machine, keep the data', async (t) => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'gatehouse-elsewhere-'))
  t.after(() => rm(elsewhere, { recursive: true, force: true }))
  const port = String(await freePort())
  const guide = await openGuide('lose-the-machine', {
    replace: [['/tmp/gatehouse-elsewhere', join(elsewhere, 'bucket')]],
    environment: {
      ...{ GATEHOUSE_PORT: port, GATEHOUSE_SERVER: `http://localhost:${port}`, GATEHOUSE_WIRE_PORT: 'off' },
    },
  })
  t.after(() => guide.close())
  await guide.run('backups key')
  await guide.save('gate.env')
  const status = (folder: string) => readStatus(join(guide.folder, folder))
  const hasBase = (folder: string) => until(`${folder} is replicated`, 30_000, () => status(folder)?.base !== undefined)
  const server = await guide.start('serve --settings-file gate.env --data here', /is running/)
  await hasBase('here')
  await guide.run('CREATE TABLE diary')
  const written = Date.now()
  await until('the row is elsewhere', 30_000, () => {
    const { at = 0, moment = 0, behindSince } = status('here') ?? {}
    return moment > written || (at > written && behindSince === undefined)
  })
  await guide.run('backups status')
  await guide.run('--list')
  await server.stop('SIGKILL')
  await guide.run('rm -rf here')
  await guide.run('--data there')
  const restored = await guide.start('serve --settings-file gate.env --data there', /is running/)
  await hasBase('there')
  await guide.run('SELECT entry')
  assert.equal(guide.take('--at').language, 'sh')
  guide.finish()
  await restored.stop()
})
