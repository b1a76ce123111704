/** What an operator sees of the replication in the console: how far the copy is, when it was checked, and that it is behind. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { ADMIN, type ConsoleScene, openConsole } from '../support/console.ts'
import { signIn } from '../support/demo-user.ts'
import { type S3Server, startS3 } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

let s3: S3Server
let scene: ConsoleScene
before(async () => {
  s3 = await startS3()
  process.env.AWS_ACCESS_KEY_ID = s3.credentials.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = s3.credentials.secretAccessKey
  scene = await openConsole({
    engine: 'sqlite',
    flags: { '--backup-url': s3.url, '--backup-key': Buffer.alloc(32, 1).toString('base64') },
  })
})
after(async () => {
  await scene.stop()
  await s3.close()
})

test('Operations, Backups: the last moment, what waits, the last verified restore, and why the copy is behind', async () => {
  const status = () => readStatus(scene.place.dataFolder)
  await until('something can be restored', 60_000, () => status()?.moment !== undefined)
  const { access_token: token } = await signIn(scene.server, ADMIN)
  const call = (path: string) =>
    fetch(`${scene.server.issuer}${path}`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  assert.equal((await call('/admin/backups/verify')).status, 204)
  await until('the copy is checked', 120_000, () => status()?.verified !== undefined)
  const view = await scene.open('/operations/backups')
  const { page } = view
  const facts = page.locator('.facts')
  await facts.getByText('s3://backups/some/prefix').waitFor()
  for (const name of ['Can be restored until', 'Behind', 'Waits in the data folder', 'All pages were sent'])
    await facts.getByText(name, { exact: true }).waitFor()
  assert.equal(await facts.getByText('not yet').count(), 0)
  await page.getByRole('row', { name: /verified/ }).waitFor()
  assert.equal(await page.getByText('The copy is behind').count(), 0)
  assert.deepEqual(await view.axe(), [])

  s3.answer = () => 'away'
  // An idle server changes nothing.
  await signIn(scene.server, ADMIN)
  await until('changes wait', 60_000, () => (status()?.spoolBytes ?? 0) > 0)
  const { behindSince = Date.now() } = status() ?? {}
  await until('they wait for a minute', 100_000, () => Date.now() - behindSince > 62_000)
  await page.reload()
  await page.getByText('The copy is behind').waitFor()
  await page.getByText('cannot be reached').waitFor()
  s3.answer = () => undefined
  view.check()
  await view.close()
})
