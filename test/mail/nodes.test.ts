/** Nodes that send from one queue: each mail goes once, none is lost when a node is killed, and a restore sends nothing old. */
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { createMailPort } from '../../packages/server/src/mail/queueing.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'
import { deriveKey } from '../support/derived-key.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'

test('two nodes on one PostgreSQL send each mail once', async (t) => {
  const smtp = await startSmtpServer()
  const { place, leave } = await openPlace('postgres')
  const flags = {
    ...smtp.flags,
    '--issuer': 'https://gate.example.com',
    '--mail-rate': '1000',
    '--master-key': Buffer.alloc(32).toString('base64'),
  }
  const nodes = [await startTestServer(place, { flags }), await startTestServer(place, { flags })]
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  t.after(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await database.close()
    await leave()
    await stopOwnPostgres()
    await smtp.close()
  })
  const stores = createStores(database, Date.now)
  const port = createMailPort({ sealingKey: deriveKey('mail'), clock: Date.now, rate: () => 1000 })
  const profile = (index: number) => ({ email: `user-${index}@example.com`, email_verified: true })
  const COUNT = 40
  for (let index = 0; index < COUNT; index++) {
    const userId = await stores.users.create({ username: `user-${index}`, profile: profile(index) })
    await port.notify(stores, { kind: 'password-changed', userId })
  }
  await until('all are sent', 8_000, async () => (await stores.mailQueue.waiting()).count === 0)
  const got = smtp.mails.flatMap(({ to }) => to).sort()
  assert.deepEqual(got, Array.from({ length: COUNT }, (_, index) => `user-${index}@example.com`).sort())
})

describe('a node that is killed', () => {
  let smtp: TestSmtpServer
  let place: TestPlace
  let leave: () => Promise<void>
  let node: RunningProcess
  const settings = () => [...['--data', place.dataFolder], ...Object.entries(smtp.flags).flat()]
  const start = () => serveProcess(settings())
  before(async () => {
    smtp = await startSmtpServer({ tls: 'none', auth: false })
    ;({ place, leave } = await openPlace('sqlite'))
    node = await start()
  })
  after(async () => {
    await node.stop()
    await leave()
    await smtp.close()
  })

  const gatehouse = async (...words: string[]) => {
    const finished = await runGatehouse([...words, ...settings()])
    assert.equal(finished.status, 0, finished.stderr)
    return finished.stdout
  }
  const invite = (name: string) =>
    gatehouse('user', 'invite', name, '--email', `${name}@example.com`, '--send', '--json')

  /** As if the time had passed. */
  function makeDue(): void {
    const file = new SqliteDatabase(join(place.dataFolder, 'identity.db'))
    file.exec("update mail_queue set next_at = 0, leased_until = 0 where state = 'waiting'")
    file.close()
  }

  const received = () => smtp.mails.flatMap(({ to }) => to).sort()

  test('between two attempts, or while the mail server has not answered, loses no mail', async () => {
    smtp.answer = () => ({ code: 451, text: 'try later' })
    await invite('ann')
    await until('the first attempt fails', 3_000, () => node.output().stdout.includes('could not be delivered'))
    smtp.answer = undefined
    const held = Promise.withResolvers<void>()
    smtp.hold = () => held.promise
    smtp.commands.length = 0
    await invite('ben')
    await until('the server has the second mail', 3_000, () => smtp.commands.includes('RCPT'))
    node.child.kill('SIGKILL')
    await node.ended
    held.reject(new Error('the connection is gone'))
    await held.promise.catch(() => {})
    smtp.hold = undefined
    smtp.mails.length = 0
    makeDue()
    node = await start()
    await until('both arrive', 4_000, () => smtp.mails.length >= 2)
    assert.deepEqual(received(), ['ann@example.com', 'ben@example.com'])
  })

  test('the command line lists the queue, tests the server and examines it', async () => {
    assert.match(await gatehouse('mail', 'list'), /invitation +sent +ann@example\.com/)
    assert.match(await gatehouse('mail', 'test', 'ops@example.com'), /took a mail for ops@example\.com/)
    assert.match(await gatehouse('doctor'), /The mail server 127\.0\.0\.1:\d+ can be used \[mail\]/)
    const { stdout, status } = await runGatehouse([
      ...['doctor', ...settings()],
      ...['--mail-url', 'smtps://127.0.0.1:1', '--mail-from', 'a@example.com'],
    ])
    assert.equal(status, 1)
    assert.match(stdout, /cannot be used.*\[mail\.unusable\]/)
  })

  test('a restore empties the queue', async () => {
    smtp.answer = () => ({ code: 451, text: 'try later' })
    await invite('cleo')
    const backup = join(place.dataFolder, '..', `${place.dataFolder.split('/').at(-1)}-backup`)
    await gatehouse('backup', backup)
    const restored = `${place.dataFolder}-restored`
    const { status, stderr } = await runGatehouse(['restore', backup, '--data', restored])
    assert.equal(status, 0, stderr)
    const file = new SqliteDatabase(join(restored, 'identity.db'), { readonly: true })
    assert.deepEqual(file.prepare('select count(*) as mails from mail_queue').get(), { mails: 0 })
    file.close()
    assert.ok((await readdir(restored)).includes('identity.db'))
    for (const folder of [backup, restored]) await rm(folder, { recursive: true })
  })
})
